# SPDX-License-Identifier: Apache-2.0
model M
python3 "$TOOLS/many_files.py" 10000
