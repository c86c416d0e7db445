# SPDX-License-Identifier: Apache-2.0
model M layers=3
try gptq-inspect --headers M
# Nothing but headers and configs is read: what lies behind may be anything.
model N fmt=v2
try gptq-inspect --headers --json N
for option in --stats --check --weights-digest '--checksum crc32'; do try gptq-inspect --headers $option M; done
