# SPDX-License-Identifier: Apache-2.0
model M
{ sleep 0.2; gptq-inspect --tensors M; echo "exit $?" >code; } | :
cat code
gptq-inspect M >/dev/full
echo "exit $?"
