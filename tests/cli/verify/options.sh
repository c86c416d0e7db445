# SPDX-License-Identifier: Apache-2.0
model A z=asym
try gptq-verify
try gptq-verify A
try gptq-verify A A A
try gptq-verify A ''
try gptq-verify --from-a v3 A A
try gptq-verify --v1-style-b smeared A A
try gptq-verify --method some A A
try gptq-verify --device tpu A A
try gptq-verify --device cuda: A A
try gptq-verify --jobs 0 A A
try gptq-verify --jobs x A A
try verify --jobs 7 A A
try gptq-verify --no-such A A
try gptq-verify --version
