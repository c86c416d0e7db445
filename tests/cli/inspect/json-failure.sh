# SPDX-License-Identifier: Apache-2.0
mkdir empty
try gptq-inspect --json nowhere empty
try gptq-inspect --json -q "$(printf 'no\033[31mwhere')"
