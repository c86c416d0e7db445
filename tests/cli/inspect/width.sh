# SPDX-License-Identifier: Apache-2.0
model M z=zero style=word k=512 producer=gptqmodel:7.1.0
for columns in 40 60 80 140; do
	COLUMNS=$columns try gptq-inspect --loaders M
	COLUMNS=$columns gptq-inspect M | awk -v most=$columns 'length > most { print "too wide: " $0 }'
done
