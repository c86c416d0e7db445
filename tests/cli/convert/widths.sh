# SPDX-License-Identifier: Apache-2.0
for bits in 2 3 4 8; do
	model M$bits bits=$bits fmt=v2
	try gptq-convert --to v1 M$bits O$bits
	gptq-convert --to v2 -q O$bits B$bits
	diff -r M$bits B$bits && echo back
done
for word in 8 16 64; do
	model W$word word=$word z=asym
	try gptq-convert --to v2 W$word V$word
	gptq-convert --to v1 -q V$word X$word
	diff -r W$word X$word && echo back
done
