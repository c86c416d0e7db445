# SPDX-License-Identifier: Apache-2.0
model A z=asym
model B z=asym n=32
model C z=asym k=64
try verify A B
try verify A C
# other groups alone are no other shape
model D z=asym group=64
try verify A D
