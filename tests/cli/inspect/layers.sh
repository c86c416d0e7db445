# SPDX-License-Identifier: Apache-2.0
ln -s "$TESTDATA/cases/mixed-bits/in" mixed-bits
ln -s "$TESTDATA/cases/w3-g32-sym/in" w3
try gptq-inspect --layers mixed-bits
try gptq-inspect -l --headers w3
