# SPDX-License-Identifier: Apache-2.0
model M
printf 'version https://git-lfs.github.com/spec/v1\noid sha256:4d7a214614ab2935c943f9e0ff69d22eadbb8f32b1258daaa5e2ca24d17e2393\nsize 12345\n' >M/model.safetensors
try gptq-convert --to v2 M O
printf '<!DOCTYPE html>\n<html><body>404</body></html>\n' >M/model.safetensors
try gptq-convert --to v2 M O
printf 'PK\003\004aaaaaaaaaaaaaaaaaaaaaaaaa' >M/model.safetensors
try gptq-convert --to v2 M O
printf 'GGUF\003\000\000\000aaaaaaaaaaaaaaaaaaaaaaaaa' >M/model.safetensors
try gptq-convert --to v2 M O
printf '\200\002}q\000aaaaaaaaaaaaaaaaaaaaaaaaaaa' >M/model.safetensors
try gptq-convert --to v2 M O
only . M
