# SPDX-License-Identifier: Apache-2.0
# the same codes in words of other sizes
for bits in 2 4 8; do
	model W32-$bits bits=$bits z=asym
	for word in 8 16 64; do
		model W$word-$bits bits=$bits z=asym word=$word fmt=v2
		verify -q W32-$bits W$word-$bits
		echo "$bits bits, $word: $?"
	done
done
try verify W32-4 W16-4
try verify --method table W32-4 W16-4
