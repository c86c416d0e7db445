# SPDX-License-Identifier: Apache-2.0
try gptq-convert --to v2 nowhere O
try gptq-convert --to v2 nowhere/deeper O
put plain text
try gptq-convert --to v2 plain/deeper O
try gptq-convert --to v2 "$(printf 'no\033[2J\nwhere\001\377')" O
only . plain
