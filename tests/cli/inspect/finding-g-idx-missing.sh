# SPDX-License-Identifier: Apache-2.0
model M g_idx=0
finds g-idx-missing M
