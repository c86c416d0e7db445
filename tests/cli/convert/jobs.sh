# SPDX-License-Identifier: Apache-2.0
# what is written and what is said do not depend on the number of threads
model M shards=5 layers=10 z=asym
put M/tokenizer.json "{}"
put M/SHA256SUMS "00  model-00001-of-00005.safetensors"
for n in 1 2 3 16 256; do
	gptq-convert --to v2 --json --jobs $n M O >report 2>warnings || echo "exit $?"
	sed 's/"performance":.*//' report >report.$n
	mv warnings warnings.$n
	digest O | sha256sum >digest.$n
	cmp report.1 report.$n
	cmp warnings.1 warnings.$n
	cmp digest.1 digest.$n
	rm -r O
done
gptq-convert --to v2 -q M O && digest O | sha256sum | cmp - digest.1
for n in 0 257 -1 1000 two '' 1x; do
	try gptq-convert --to v2 --jobs "$n" M O2
done
# one of several files cannot be written: all stop, and nothing is left
command -v prlimit >/dev/null || skip "no prlimit"
model B shards=4 layers=4 k=512 n=512
try prlimit --fsize=20000 gptq-convert --to v2 -q -j 4 B O2 | sed 's/model-0000[1-4]/model-0000N/'
only . M O B report warnings report.1 report.2 report.3 report.16 report.256 warnings.1 warnings.2 warnings.3 \
	warnings.16 warnings.256 digest.1 digest.2 digest.3 digest.16 digest.256
