# SPDX-License-Identifier: Apache-2.0
# Every file of the corpus ends as it must, with a sentence where it is not valid. A valid file that loaders may read
# in two ways is refused on purpose.
grep -v "^#" "$TESTDATA/safetensors/EXPECT.tsv" | while IFS="$(printf '\t')" read -r name verdict rest; do
	gptq-inspect "$TESTDATA/safetensors/$name" >out 2>err
	code=$?
	echo "$verdict $code"
	if [ $code -ne 0 ] && ! grep -q '^  error    [a-z]' out; then echo "no sentence: $name"; fi
	if [ -s err ]; then echo "on standard error: $name $(cat err)"; fi
done | sort | uniq -c
