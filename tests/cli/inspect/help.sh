# SPDX-License-Identifier: Apache-2.0
try gptq-inspect --help
