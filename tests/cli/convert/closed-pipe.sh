# SPDX-License-Identifier: Apache-2.0
model M
{ gptq-convert --help; echo "exit $?" >code; } | :
cat code
{ sleep 0.2; gptq-convert --to v2 M O; echo "exit $?" >code; } | :
cat code
ls O
gptq-convert --to v2 -n M O2 >&- ; echo "exit $?"
gptq-convert --to v2 -n M O2 >/dev/full ; echo "exit $?"
gptq-convert --to v2 -n -q M O2 2>&- ; echo "exit $?"
