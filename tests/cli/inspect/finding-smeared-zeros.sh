# SPDX-License-Identifier: Apache-2.0
model M z=zero style=smeared k=512
finds smeared-zeros M
