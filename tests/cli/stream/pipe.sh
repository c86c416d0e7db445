# SPDX-License-Identifier: Apache-2.0
# Whatever the chunks, the same bytes as a conversion of the file. The report goes to standard error.
file a.safetensors z=asym
gptq-convert --to v2 -q a.safetensors want.safetensors
gptq-convert --to v2 --from v1 --bits 4 - - <a.safetensors >out
echo "exit $?"
cmp out want.safetensors && echo same
for n in 1 2 3 7 8 9 100 4095 4097; do
	python3 "$TOOLS/slow_pipe.py" a.safetensors $n | gptq-convert --to v2 --from v1 -q - - | cmp - want.safetensors || echo "differs at $n"
done
gptq-convert --to v1 --from v2 --json - - <want.safetensors 2>report >back
echo "exit $?"
cat report
cmp back a.safetensors && echo back
