# SPDX-License-Identifier: Apache-2.0
# A reader that goes away: 141 and no word. A full disk: 2.
file a.safetensors layers=12 n=256 k=512
{ gptq-convert --to v2 --from v1 - - <a.safetensors; echo "exit $?" >code; } | head -c 100 >/dev/null
cat code
gptq-convert --to v2 --from v1 -q - - <a.safetensors >/dev/full
echo "exit $?"
