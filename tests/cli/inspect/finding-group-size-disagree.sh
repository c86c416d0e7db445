# SPDX-License-Identifier: Apache-2.0
model M
sed -i 's/"group_size": 32/"group_size": 64/' M/*.json
finds group-size-disagree M
