# SPDX-License-Identifier: Apache-2.0
model M shards=2
file M/old.safetensors
put M/torn.safetensors x
finds stray-safetensors M
