# SPDX-License-Identifier: Apache-2.0
# On a terminal no line of report or messages is broken in the midst of a word; elsewhere each is one line.
model M.a z=zero style=word k=512
cat >terminal.py <<'END'
import fcntl, os, pty, struct, subprocess, sys, termios
width = int(sys.argv[1])
master, slave = pty.openpty()
fcntl.ioctl(master, termios.TIOCSWINSZ, struct.pack("HHHH", 24, width, 0, 0))
run = subprocess.Popen(sys.argv[2:], stdin=subprocess.DEVNULL, stdout=slave, stderr=slave)
os.close(slave)
seen = b""
try:
    while True:
        seen += os.read(master, 65536)
except OSError:
    pass
plain = subprocess.run(sys.argv[2:], stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.STDOUT).stdout
lines, long = seen.decode().splitlines(), plain.decode().splitlines()
print("exit", run.wait(), "the same words:", seen.split() == plain.split())
print("as they are:" if lines == long else "more lines:", len(lines) > len(long), max(map(len, long)) > 46,
      "too long:", [line for line in lines if width and len(line) > width and " " in line.strip()])
END
unset COLUMNS
try python3 terminal.py 46 gptq-convert --to v2 --dry-run M.a O
try python3 terminal.py 46 gptq-convert --to v2 M.a M.a/O
try python3 terminal.py 0 gptq-convert --to v2 --dry-run M.a O
try env COLUMNS=46 python3 terminal.py 80 gptq-convert --to v2 --dry-run M.a O
COLUMNS=46 gptq-convert --to v2 --dry-run M.a O
