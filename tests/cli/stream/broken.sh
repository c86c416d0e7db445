# SPDX-License-Identifier: Apache-2.0
# Cut off, with something behind, no safetensors at all, groups that are not there: exit 2.
file a.safetensors z=asym
size=$(wc -c <a.safetensors)
for n in 0 3 8 20 500 1500 $((size - 1)); do
	head -c $n a.safetensors | gptq-convert --to v2 --from v1 -q - - >out
	echo "$n: exit $?"
done
{ cat a.safetensors; printf x; } | gptq-convert --to v2 --from v1 -q - - >out
echo "exit $?"
gptq-inspect out >/dev/null 2>&1 && echo "A WHOLE FILE CAME OUT"
printf '<html><body>404</body></html>' | gptq-convert --to v2 --from v1 - - >out
echo "exit $?"
printf '\377\377\377\377\377\377\377\177{"a"' | gptq-convert --to v2 --from v1 - - >out
echo "exit $?"
tensor a.safetensors model.layers.0.proj.g_idx first=9
gptq-convert --to v2 --from v1 - - <a.safetensors >out
echo "exit $?"
gptq-inspect out >/dev/null 2>&1 && echo "A WHOLE FILE CAME OUT"
gptq-convert --to v2 --from v1 - out.safetensors <a.safetensors
echo "exit $?"
gptq-convert --to v2 --from v1 - - <&- >out
echo "exit $?"
gptq-convert --to v2 --from v1 - - <. >out
echo "exit $?"
only . a.safetensors out
