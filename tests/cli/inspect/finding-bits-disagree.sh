# SPDX-License-Identifier: Apache-2.0
model M bits=8
sed -i 's/"bits": 8/"bits": 4/' M/*.json
finds bits-disagree M
