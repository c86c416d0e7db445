# SPDX-License-Identifier: Apache-2.0
model M
sed -i 's/"desc_act": false/"desc_act": true/' M/*.json
finds g-idx-trivial-under-desc-act M
