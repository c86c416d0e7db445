# SPDX-License-Identifier: Apache-2.0
python3 "$TOOLS/sandbox.py"
