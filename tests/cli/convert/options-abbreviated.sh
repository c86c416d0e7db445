# SPDX-License-Identifier: Apache-2.0
model M
try gptq-convert --dry --t v2 --q M O
try gptq-convert --rel --dry-run -q M O
try gptq-convert --ver M O
try gptq-convert --v M O
