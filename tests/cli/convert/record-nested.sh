# SPDX-License-Identifier: Apache-2.0
model M z=zero fmt=v2
cat >M/config.json <<'EOF'
{
    "text_config": {
        "quantization_config": {
            "bits": 4,
            "checkpoint_format": "gptq_v2",
            "group_size": 32,
            "quant_method": "gptq"
        }
    }
}
EOF
try gptq-convert --to v1 -q --v1-style lane M O
cat O/config.json O/quantize_config.json
try gptq-convert --to v2 -q O B
diff -r M B && echo back
