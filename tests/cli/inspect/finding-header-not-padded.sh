# SPDX-License-Identifier: Apache-2.0
model M
unpad M/model.safetensors 3
finds header-not-padded M
