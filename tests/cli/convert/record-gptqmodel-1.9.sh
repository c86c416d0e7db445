# SPDX-License-Identifier: Apache-2.0
model M bits=3 fmt=v2 producer=gptqmodel:1.9.0
try gptq-convert --to v1 M O
labels O
try gptq-convert --to v2 O B
diff -r M B && echo back
model W bits=3 style=3bit producer=gptqmodel:1.9.0
try gptq-convert --to v2 W V
try gptq-convert --to v1 V X
labels X
