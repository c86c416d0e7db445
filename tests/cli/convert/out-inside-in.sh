# SPDX-License-Identifier: Apache-2.0
model M
mkdir M/sub other
ln -s M link
ln -s ../M/sub other/deep
before=$(digest M)
for out in M/O M/sub/O link/O other/../M/O other/deep/O M/sub/../O M/new/../O M/.; do try gptq-convert --to v2 M $out; done
try gptq-convert --to v2 link M/O
try gptq-convert --to v2 M/. link/O
try gptq-convert --to v2 --force M M/sub
(cd M && try gptq-convert --to v2 . O && try gptq-convert --to v2 ../M sub/O)
test "$before" = "$(digest M)" && echo untouched
only . M link other
