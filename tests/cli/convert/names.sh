# SPDX-License-Identifier: Apache-2.0
model M
esc=$(printf '\033')
put "M/two words.txt" x
put "M/$(printf 'line\nbreak.txt')" x
put "M/$(printf 'esc\033[31m.bin')" x
put "M/$(printf 'bad\377.bin')" x
put "M/$(printf 'rtl\342\200\256.bin')" x
mkdir "M/-dash"
put M/-dash/-f x
before=$(digest M)
try gptq-convert --to v2 M "O $esc[31m"
find "O $esc[31m" | LC_ALL=C sort | cat -v
test "$before" = "$(digest M)" && echo untouched
