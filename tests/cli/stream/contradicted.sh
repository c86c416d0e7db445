# SPDX-License-Identifier: Apache-2.0
# Data against what was claimed: exit 1, and what came out is cut off, not wrong.
cut() { gptq-convert -q "$@" - - <in.safetensors >out; echo "exit $?"; gptq-inspect out >/dev/null 2>&1 && echo "A WHOLE FILE CAME OUT"; rm -f in.safetensors; }
file in.safetensors
cut --to v1 --from v2
file in.safetensors fmt=v2
cut --to v2 --from v1
file in.safetensors fmt=v2 bits=3
cut --to v2 --from v1
file in.safetensors z=zero
cut --to v2 --from v1
file in.safetensors z=zero fmt=v2
cut --to v1 --from v2
file in.safetensors z=asym bits=3
cut --to v2 --from v1
file in.safetensors bits=3 style=3bit
cut --to v2 --from v1 --v1-style lane
file in.safetensors bits=3
cut --to v2 --from v1 --v1-style gptqmodel-3bit
file in.safetensors z=zero style=smeared
put old.json '{"bits": 4, "quant_method": "gptq", "autoround_version": "0.5.0", "quant_method": "gptq"}'
put old.json '{"bits": 4, "quant_method": "gptq", "autoround_version": "0.5.0"}'
cut --to v2 --from v1 --config old.json
