# SPDX-License-Identifier: Apache-2.0
# every form of --json against the schema
model M shards=2
metadata M/model-00001-of-00002.safetensors gptq
put M/SHA256SUMS "00  model-00001-of-00002.safetensors"
put M/pytorch_model.bin x
mkdir M/.cache
model Z z=zero fmt=v2
model S z=zero style=smeared
model H half=1 layers=6
model W bits=3 fmt=v2 producer=gptqmodel:1.9.0
model N label=none z=noise
model C label=gptq_v2
model O style=word z=open layers=1 n=32
model T
truncate -s -10 T/model.safetensors
model "$(printf 'esc\033[31m\n')"
file one.safetensors bits=8
n=0
j() {
	n=$((n + 1))
	gptq-convert --json -q "$@" 2>/dev/null >>lines
	echo "$n: exit $?"
}
j --to v2 M out/M
mkdir out
j --to v2 M out/M
j --to v2 --dry-run M out/M2
j --to v1 M out/M3
j --to v1 Z out/Z
j --to v1 --v1-style lane Z out/Z
j --to v2 out/Z out/Zback
j --to v2 S out/S
j --to v2 --accept-damaged S out/S
j --to v2 H out/H
j --to v2 --per-layer H out/H
j --to v1 W out/W
j --to v2 N out/N
j --relabel N out/N2
j --relabel C out/C
j --to v2 C out/C2
j --to v2 O out/O
j --to v2 T out/T
j --to v2 "$(printf 'esc\033[31m\n')" "$(printf 'out/\033[0m\377')"
j --to v2 one.safetensors out/one.safetensors
j --to v2 nowhere out/nowhere
python3 "$TOOLS/schema.py" "$TOOLS/../../schema/gptq-convert.schema.json" <lines
