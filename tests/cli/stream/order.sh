# SPDX-License-Identifier: Apache-2.0
# Tensors in any order, in header and data.
file a.safetensors z=asym layers=3
for seed in 1 2 3 4 5 6 7 8; do
	python3 "$TOOLS/shuffle.py" a.safetensors $seed s.safetensors
	gptq-convert --to v2 -q s.safetensors want.safetensors
	gptq-convert --to v2 --from v1 -q - - <s.safetensors | cmp - want.safetensors
	rm want.safetensors
done
echo done
