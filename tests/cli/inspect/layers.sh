# SPDX-License-Identifier: Apache-2.0
try gptq-inspect --layers "$TESTDATA/cases/mixed-bits/in"
try gptq-inspect -l --headers "$TESTDATA/cases/w3-g32-sym/in"
