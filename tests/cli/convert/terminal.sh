# SPDX-License-Identifier: Apache-2.0
# On a terminal no line of report or messages is broken in the midst of a word; elsewhere each is one line. A break
# takes the place of one space, and all others are as in the text: names of files may have several in a row.
model M.a z=zero style=word k=512
model 'two  spaces   and  more.a' z=zero style=word k=512
model 'größe-über-änderung.a' z=zero style=word k=512
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
margin = 2 * " " if b" error: " in plain else 14 * " "  # of continuation lines
unbroken, text = ("\n".join(some).replace("\n" + margin, " ") for some in (lines, long))
wide = int(os.environ.get("COLUMNS", width))
early = [line for line, after in zip(lines, lines[1:]) if after.startswith(margin) and
         len(line) + 1 + len(after.split()[0]) <= wide and line.strip() + " " + after.split()[0] in plain.decode()]
print("exit", run.wait(), "the same text:", unbroken == text)
print("as they are:" if lines == long else "more lines:", len(lines) > len(long), max(map(len, long)) > 46,
      "too long:", [line for line in lines if wide and len(line) > wide and " " in line.strip()], "too early:", early)
END
unset COLUMNS
try python3 terminal.py 46 gptq-convert --to v2 --dry-run M.a O
try python3 terminal.py 46 gptq-convert --to v2 M.a M.a/O
try python3 terminal.py 0 gptq-convert --to v2 --dry-run M.a O
try env COLUMNS=46 python3 terminal.py 80 gptq-convert --to v2 --dry-run M.a O
for width in 40 41 42 43 44 45 46 47 48 49 50 51 52 53 54 55 56 57 58 59 60; do
	python3 terminal.py $width gptq-convert --to v2 'no  such  place' O
	python3 terminal.py $width gptq-convert --to v2 'two  spaces   and  more.a' 'two  spaces   and  more.a/O'
	python3 terminal.py $width gptq-convert --to v2 größe-über-änderung.a größe-über-änderung.a/O
done | sort -u
COLUMNS=46 gptq-convert --to v2 --dry-run M.a O
