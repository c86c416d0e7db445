# SPDX-License-Identifier: Apache-2.0
model M
mkdir folder
put file text
ln -s nowhere dangling
ln -s folder link
for out in folder folder/ file dangling link; do try gptq-convert --to v2 M $out; done
for out in folder file dangling link; do try gptq-convert --to v2 --dry-run M $out; done
cat file
ls -A folder
only . M folder file dangling link
