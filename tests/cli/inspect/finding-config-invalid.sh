# SPDX-License-Identifier: Apache-2.0
model M
put M/quantize_config.json '{"bits": 4,}'
finds config-invalid M
