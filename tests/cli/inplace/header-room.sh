# SPDX-License-Identifier: Apache-2.0
# A label inside the header changes in the padding, or not at all.
cp -r "$TESTDATA/cases/metadata-label-room/in" R
cp -r "$TESTDATA/cases/metadata-label-tight/in" T
chmod -R u+w R T
try gptq-convert --to v2 --in-place -q R
diff -r R "$TESTDATA/cases/metadata-label-room/v2" && echo "byte for byte"
before=$(digest T)
try gptq-convert --to v2 --in-place T
test "$before" = "$(digest T)" && echo untouched
