# SPDX-License-Identifier: Apache-2.0
file one.safetensors
put O.safetensors old
gptq-convert --to v2 --force -q one.safetensors O.safetensors
echo "exit $?"
digest O.safetensors
only . one.safetensors O.safetensors
