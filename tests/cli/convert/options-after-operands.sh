# SPDX-License-Identifier: Apache-2.0
model M
gptq-convert M O --to v2 -q && ls O
