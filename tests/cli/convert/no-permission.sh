# SPDX-License-Identifier: Apache-2.0
command -v setpriv >/dev/null || skip "no setpriv"
test "$(id -u)" = 0 || skip "not root"
setpriv --reuid=65534 --regid=65534 --clear-groups true 2>/dev/null || skip "setpriv may not change the user"
setpriv --reuid=65534 --regid=65534 --clear-groups test -x "$(command -v gptq-convert)" || skip "another user cannot run the command"
as_nobody() { setpriv --reuid=65534 --regid=65534 --clear-groups "$@"; }
as_nobody gptq-convert --version >/dev/null 2>&1 || skip "another user cannot run the command"
model M
mkdir closed open
chmod 777 open
chmod 700 closed
model secret
chmod 600 secret/model.safetensors
model locked
chmod 700 locked
model hidden
chmod 600 hidden/config.json
model nolook
mkdir nolook/sub
chmod 700 nolook/sub
try as_nobody gptq-convert --to v2 M closed/O
try as_nobody gptq-convert --to v2 M O
try as_nobody gptq-convert --to v2 secret open/O
try as_nobody gptq-convert --to v2 locked open/O
try as_nobody gptq-convert --to v2 hidden open/O
try as_nobody gptq-convert --to v2 nolook open/O
try as_nobody gptq-convert --to v2 --dry-run M O
ls -A open closed
only . M closed open secret locked hidden nolook
