# SPDX-License-Identifier: Apache-2.0
model M
: >M/.gptq-convert.journal
finds interrupted M
