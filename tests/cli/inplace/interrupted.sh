# SPDX-License-Identifier: Apache-2.0
# A run that a full disk stops half way, and all that can be done then. What stops it: the new text of a config cannot
# get its name, for something else has it.
model M
model OLD
gptq-convert --to v2 -q M NEW
interrupt() {
	rm -rf M
	cp -r OLD M
	mkdir -p M/.gptq-convert.config.new/x
	gptq-convert --to v2 --in-place -q "$@" M
	echo "exit $?"
	rm -r M/.gptq-convert.config.new
}
interrupt
ls -A M
try gptq-inspect --check -q M
gptq-inspect --check M/model.safetensors | grep -A4 interrupted
try gptq-convert --to v2 M O
try gptq-convert --to v2 M/model.safetensors O
try gptq-convert --to v1 --in-place M
try gptq-convert --relabel --in-place M
try gptq-convert --from v2 --to v2 --in-place M
try gptq-convert --to v2 --in-place --dry-run M
try gptq-convert --to v2 --in-place M
diff -r M NEW && echo new
interrupt >/dev/null 2>&1
try gptq-convert --rollback M
diff -r M OLD && echo old
interrupt >/dev/null 2>&1
try gptq-convert --in-place --json M
diff -r M NEW && echo new
interrupt >/dev/null 2>&1
gptq-convert --rollback --json M
diff -r M OLD && echo old
interrupt >/dev/null 2>&1
cp -r M COPY
try gptq-convert --in-place COPY
printf x | dd of=M/model.safetensors bs=1 seek=2000 conv=notrunc 2>/dev/null
put M/config.json '{}'
try gptq-convert --in-place M
try gptq-convert --rollback M
