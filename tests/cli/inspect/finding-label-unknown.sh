# SPDX-License-Identifier: Apache-2.0
model M label=gptq_v3
finds label-unknown M
