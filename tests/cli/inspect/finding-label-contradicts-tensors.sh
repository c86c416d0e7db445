# SPDX-License-Identifier: Apache-2.0
model M fmt=v2 label=gptq
finds label-contradicts-tensors M
