# SPDX-License-Identifier: Apache-2.0
# every form of --json against the schema
model A z=asym
gptq-convert -q --to v2 A B
cp -r B C
tensor C/model.safetensors model.layers.1.proj.qweight flip=10000
tensor C/model.safetensors model.norm.weight flip=9
model S z=asym n=32
model F z=asym dtype=F32
model M z=asym layers=1
model X z=asym label=gptq_v2
model P layers=0 config=none
cp -r A N
tensor N/model.safetensors model.layers.0.proj.scales first=469794305
cp -r N N2
tensor N2/model.safetensors model.layers.0.proj.scales flip=14
n=0
j() {
	n=$((n + 1))
	gptq-verify --device cpu --json "$@" 2>/dev/null >line
	echo "$n: exit $?"
	cat line >>lines
}
j A B
sed 's/"version":"[^"]*"/"version":"..."/' line
j --layers A B
j A C
sed 's/"version":"[^"]*"/"version":"..."/' line
j A S
j F A
j M A
j A M
j A X
j --from-b v1 A X
j P P
j P A
j N N2
j nowhere A
j "$(printf 'esc\033[31m\n\377')" A
python3 "$TOOLS/schema.py" "$TOOLS/../../schema/gptq-verify.schema.json" <lines
