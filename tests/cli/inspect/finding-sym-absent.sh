# SPDX-License-Identifier: Apache-2.0
model M
sed -i '/"sym"/d' M/*.json
finds sym-absent M
