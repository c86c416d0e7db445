# SPDX-License-Identifier: Apache-2.0
model M z=asym sym=true
finds sym-not-constant M
