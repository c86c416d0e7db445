# SPDX-License-Identifier: Apache-2.0
model M k=112
finds group-does-not-divide M
