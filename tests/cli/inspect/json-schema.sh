# SPDX-License-Identifier: Apache-2.0
# Every sample, every kind of trouble and every option against the schema.
SCHEMA="$TESTDATA/../schema/gptq-inspect.schema.json"
gptq-inspect --json "$TESTDATA"/cases/*/in >lines 2>err
gptq-inspect --json --stats --loaders --layers --checksum sha256 "$TESTDATA"/cases/mixed-bits/in >>lines 2>>err
gptq-inspect --json --headers --tensors --loaders "$TESTDATA"/cases/w4-g32-sym/in >>lines 2>>err
gptq-inspect --json "$TESTDATA"/safetensors/*.safetensors >>lines 2>>err
gptq-inspect --json - <"$TESTDATA"/cases/w4-g32-sym/in/model.safetensors >>lines
tensors exl2.safetensors a.q_weight=I32:34,128 a.q_groups=I16:8 a.q_scale=I32:4,16 a.q_scale_max=F16:4 a.q_invperm=I32:256
tensors hqq.safetensors a.W_q=U8:16384,1
mkdir empty
gptq-inspect --json --loaders exl2.safetensors hqq.safetensors empty nowhere >>lines 2>>err
python3 "$TOOLS/schema.py" "$SCHEMA" <lines | sed 's/[0-9]* of [0-9]* lines fit/all lines fit/'
