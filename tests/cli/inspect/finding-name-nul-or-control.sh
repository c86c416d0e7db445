# SPDX-License-Identifier: Apache-2.0
model M
tensor M/model.safetensors "$(printf 'a\033[31mb')" add=1
finds name-nul-or-control M
