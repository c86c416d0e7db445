# SPDX-License-Identifier: Apache-2.0
# a GPU that is not there
model A z=asym
if gptq-verify --device cuda -q A A 2>said; then skip "there is a GPU"; fi
grep -c '^gptq-verify: error: ' said
gptq-verify --device cuda --json A A 2>/dev/null | sed 's/"text":"[^"]*"/"text":"..."/'
gptq-verify --device cuda:1 -q A A 2>/dev/null
echo "exit $?"
gptq-verify --device auto -q A A
echo "exit $?"
gptq-verify -v A A 2>&1 >/dev/null | grep -c '^gptq-verify: warning: no GPU is used: '
gptq-convert --to v2 --verify=weights --device cuda A B 2>/dev/null
echo "exit $?"
only . A said
