# SPDX-License-Identifier: Apache-2.0
model M z=zero style=word k=512 producer=gptqmodel:7.0.0
finds v1-zero-at-0 M
