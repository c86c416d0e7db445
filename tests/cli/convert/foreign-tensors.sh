# SPDX-License-Identifier: Apache-2.0
mkdir P A
python3 - "$MK" <<'EOF'
import importlib.util, struct, sys
sys.argv = [sys.argv[1], "digest"]
spec = importlib.util.spec_from_file_location("mk", sys.argv[0])
mk = importlib.util.module_from_spec(spec)
spec.loader.exec_module(mk)
mk.write_file("P/model.safetensors", {"a.weight": ("F16", [4, 4], b"\0" * 32), "b.bias": ("F16", [4], b"\0" * 8)})
EOF
put P/config.json '{"architectures": ["Plain"]}'
try gptq-convert --to v2 P O
put P/config.json '{"quantization_config": {"quant_method": "fp8"}}'
try gptq-convert --to v2 P O
only . P A
