# SPDX-License-Identifier: Apache-2.0
model M
mkdir -p O/old/deep
put O/old/deep/file old
ln -s ../M O/link
before=$(digest M)
gptq-convert --to v2 --force -q M O
echo "exit $?"
ls -A O
test "$before" = "$(digest M)" && echo untouched
only . M O
