# SPDX-License-Identifier: Apache-2.0
# In memory where there is some: it is the number that counts here, not the disk.
there=$(mktemp -d /dev/shm/gptq-cli-XXXXXX 2>/dev/null) && cd "$there" && trap 'rm -rf "$there"' EXIT
model M
python3 "$TOOLS/many_files.py" 10000
