# SPDX-License-Identifier: Apache-2.0
model M z=open
finds v1-style-undetermined M
