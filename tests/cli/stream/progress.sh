# SPDX-License-Identifier: Apache-2.0
# progress on a terminal: one line, as wide as the terminal is at that moment
file a.safetensors layers=8 k=512 n=512
python3 "$TOOLS/progress.py" a.safetensors 3 90 33 gptq-convert --to v2 --from v1 - o.safetensors
# on no terminal there is none, unless it is asked for
slow() { python3 -c '
import sys, time
raw = open("a.safetensors", "rb").read()
for i in range(15):
    sys.stdout.buffer.write(raw[len(raw) * i // 15:len(raw) * (i + 1) // 15])
    sys.stdout.buffer.flush()
    time.sleep(0.1)'; }
slow | gptq-convert --to v2 --from v1 --json - p.safetensors 2>&1 >/dev/null | grep -c '%'
slow | gptq-convert --to v2 --from v1 --json --progress always - q.safetensors 2>&1 >/dev/null | tr '\r' '\n' | grep -c 'left' >n
test "$(cat n)" -gt 1 && echo "asked for: lines"
slow | gptq-convert --to v2 --from v1 --json --progress never - r.safetensors 2>&1 >/dev/null | grep -c '%'
# work that is done at once shows none
gptq-convert --to v2 --from v1 --json --progress always - s.safetensors <a.safetensors 2>&1 >/dev/null | grep -c '%'
