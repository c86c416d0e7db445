# SPDX-License-Identifier: Apache-2.0
mkdir M
put M/html.safetensors '<!DOCTYPE html><html>Not found</html>'
printf 'PK\003\004\000\000archive/data.pkl' >M/torch.safetensors
printf '\200\002}q\001(X\004' >M/pickle.safetensors
printf 'GGUF\003\000\000\000' >M/gguf.safetensors
finds not-safetensors M
