# SPDX-License-Identifier: Apache-2.0
# A second run at the same time is kept out; so is one on a single file of the folder. The lock goes with its holder.
model M
command -v flock >/dev/null || skip "no flock program"
flock M sh -c 'gptq-convert --to v2 --in-place M; echo "exit $?"; gptq-convert --to v2 -i M/model.safetensors; echo "exit $?"'
flock M/model.safetensors gptq-convert --to v2 -i M/model.safetensors
echo "exit $?"
gptq-convert --to v2 -i -q M
echo "exit $?"
ls -A M
