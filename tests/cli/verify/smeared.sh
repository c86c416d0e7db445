# SPDX-License-Identifier: Apache-2.0
model A z=zero style=smeared
model B z=zero fmt=v2
try verify A B
try verify B A
try verify --v1-style-a lane A B
