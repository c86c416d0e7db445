# SPDX-License-Identifier: Apache-2.0
model M
sed -i 's/"bits": 4,/"bits": 4, "lm_head": true,/' M/*.json
finds lm-head-disagrees M
