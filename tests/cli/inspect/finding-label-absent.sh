# SPDX-License-Identifier: Apache-2.0
model M label=none
finds label-absent M
