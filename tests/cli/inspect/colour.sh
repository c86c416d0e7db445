# SPDX-License-Identifier: Apache-2.0
# Colour on a terminal alone, and never under NO_COLOR or TERM=dumb.
model M z=zero style=word k=512
cat >terminal.py <<'END'
import os, pty, subprocess, sys
master, slave = pty.openpty()
run = subprocess.Popen(sys.argv[1:], stdin=subprocess.DEVNULL, stdout=slave)
os.close(slave)
out = b""
try:
    while True:
        out += os.read(master, 65536)
except OSError:
    pass
print("exit", run.wait(), "colour" if b"\x1b[" in out else "plain", len(out) > 500)
END
export TERM=xterm
python3 terminal.py gptq-inspect M
NO_COLOR=1 python3 terminal.py gptq-inspect M
NO_COLOR= python3 terminal.py gptq-inspect M
TERM=dumb python3 terminal.py gptq-inspect M
gptq-inspect M | LC_ALL=C grep -c "$(printf '\033')"
