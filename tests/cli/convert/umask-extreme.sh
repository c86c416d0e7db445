# SPDX-License-Identifier: Apache-2.0
# Without any permission for new files, and with all: as root, and as somebody whom permissions stop.
model M
mkdir M/sub
put M/sub/file x
file one.safetensors
(umask 0777; gptq-convert --to v2 -q M O1; gptq-convert --to v2 -q one.safetensors F1)
(umask 0000; gptq-convert --to v2 -q M O2; gptq-convert --to v2 -q one.safetensors F2)
stat -c '%a %n' O1 O1/* O1/sub/file F1 O2 O2/* O2/sub/file F2
command -v setpriv >/dev/null || skip "no setpriv"
test "$(id -u)" = 0 || skip "not root"
as_nobody() { setpriv --reuid=65534 --regid=65534 --clear-groups "$@"; }
as_nobody gptq-convert --version >/dev/null 2>&1 || skip "another user cannot run the command"
mkdir open
chmod 777 open
cp -r M one.safetensors open
chown -R 65534:65534 open/M open/one.safetensors
for mask in 0100 0200 0400 0777; do
	echo "umask $mask"
	(
		umask $mask
		as_nobody gptq-convert --to v2 -q M open/O
		as_nobody gptq-convert --to v2 -q one.safetensors open/F
	) 2>&1
	ls -A open
	rm -f open/F
done
(
	umask 0777
	as_nobody gptq-convert --to v2 -q --in-place open/M
	as_nobody gptq-convert --to v2 -q --in-place open/one.safetensors
)
echo "in place: exit $?"
stat -c '%a %n' open/*
gptq-convert --to v2 -q M O
gptq-convert --to v2 -q one.safetensors O.safetensors
diff -r O open/M && cmp O.safetensors open/one.safetensors && echo "as under any other"
