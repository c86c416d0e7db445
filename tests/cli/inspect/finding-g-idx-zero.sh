# SPDX-License-Identifier: Apache-2.0
cp -r $TESTDATA/cases/g-idx-zero/in M
finds g-idx-zero M
