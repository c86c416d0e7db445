# SPDX-License-Identifier: Apache-2.0
model M
try gptq-inspect
try gptq-inspect --checksum
try gptq-inspect --no-such M
try gptq-inspect --progress sometimes M
try gptq-inspect nowhere
try gptq-inspect --version
