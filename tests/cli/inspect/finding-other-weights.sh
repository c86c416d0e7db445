# SPDX-License-Identifier: Apache-2.0
model M
: >M/pytorch_model.bin
finds other-weights M
