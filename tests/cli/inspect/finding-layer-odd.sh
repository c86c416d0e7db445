# SPDX-License-Identifier: Apache-2.0
model M layers=24 odd=5 k=32
finds layer-odd M
