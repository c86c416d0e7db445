# SPDX-License-Identifier: Apache-2.0
model M
ln -s nowhere M/notes.txt
try gptq-convert --to v2 M O
rm M/notes.txt
ln -s notes.txt M/notes.txt
try gptq-convert --to v2 M O
rm M/notes.txt
mkdir M/sub
ln -s .. M/sub/up
try gptq-convert --to v2 M O
only . M
