# SPDX-License-Identifier: Apache-2.0
model M layers=4 half=1
finds verdict-mixed M
