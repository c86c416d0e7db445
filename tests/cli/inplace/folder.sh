# SPDX-License-Identifier: Apache-2.0
model M z=asym
cp -r M A
gptq-convert --to v2 -q A B
chmod 640 M/config.json
try gptq-convert --to v2 --in-place M
chmod 644 M/config.json
diff -r M B && echo "the same as a conversion into a new place"
try gptq-convert --to v2 -i M
try gptq-convert -i --to v1 -q M
diff -r M A
ls -A M
