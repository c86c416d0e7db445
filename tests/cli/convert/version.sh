# SPDX-License-Identifier: Apache-2.0
try gptq-convert --version
try gptq-convert -V
