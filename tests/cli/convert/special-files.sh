# SPDX-License-Identifier: Apache-2.0
model M
mkfifo M/pipe
try gptq-convert --to v2 M O
rm M/pipe
python3 -c 'import socket; s = socket.socket(socket.AF_UNIX); s.bind("M/socket")'
try gptq-convert --to v2 M O
rm M/socket
ln -s /dev/null M/null
try gptq-convert --to v2 M O
rm M/null
mkfifo pipe
try gptq-convert --to v2 pipe O
try gptq-convert --to v2 /dev/null O
mkfifo out
try gptq-convert --to v2 --force M out
only . M pipe out
