# SPDX-License-Identifier: Apache-2.0
model M z=noise bits=8
finds verdict-undetermined M
