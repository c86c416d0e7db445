# SPDX-License-Identifier: Apache-2.0
# the digest of a stream is that of the bytes that went out
file a.safetensors z=asym
metadata a.safetensors gptq
gptq-convert --to v2 -q --from v1 --manifest=sums - - <a.safetensors >b.safetensors
echo "exit $?"
sha256sum <b.safetensors | cmp - sums && echo same
sha256sum -c sums <b.safetensors
gptq-convert --to v2 -q --manifest=sums2 a.safetensors - >c.safetensors
echo "exit $?"
sha256sum <c.safetensors | cmp - sums2 && echo same
gptq-convert --to v2 -q --from v1 --manifest - d.safetensors <a.safetensors
echo "exit $?"
python3 "$TOOLS/sums.py" d.safetensors.sha256 d.safetensors
gptq-convert --to v2 --from v1 --json --manifest=sums3 - - <a.safetensors 2>&1 >/dev/null | grep -o '"manifest":{[^}]*}'

# without a place, and where there is no whole output, there is none
gptq-convert --to v2 --manifest - - <a.safetensors
echo "exit $?"
head -c 2000 a.safetensors | gptq-convert --to v2 -q --manifest=sums4 - - >/dev/null
echo "exit $?"
head -c 2000 a.safetensors | gptq-convert --to v2 -q --manifest - e.safetensors
echo "exit $?"
gptq-convert --to v2 -q --manifest=./a.safetensors --force a.safetensors - >/dev/null
echo "exit $?"
gptq-convert --to v2 -n -q --manifest=sums5 - - <a.safetensors
echo "exit $?"
only . a.safetensors b.safetensors c.safetensors d.safetensors d.safetensors.sha256 sums sums2 sums3
