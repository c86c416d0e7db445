# SPDX-License-Identifier: Apache-2.0
model M fmt=v2 label=none
finds label-absent-but-v2 M
