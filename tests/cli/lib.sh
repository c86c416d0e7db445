# SPDX-License-Identifier: Apache-2.0
# shellcheck shell=sh
# Functions of the command-line cases. Read by run.py before each of them.

model() { python3 "$MK" model "$@"; }        # DIR [KEY=VALUE...]
file() { python3 "$MK" file "$@"; }          # FILE [KEY=VALUE...]
tensor() { python3 "$MK" set "$@"; }         # FILE NAME KEY=VALUE...
tensors() { python3 "$MK" tensors "$@"; }    # FILE NAME=DTYPE:SHAPE...
scale() { python3 "$MK" scale "$@"; }        # FILE NAME HEX
unpad() { python3 "$MK" unpad "$@"; }        # FILE N
shuffle() { python3 "$MK" shuffle "$@"; }    # FILE
metadata() { python3 "$MK" label "$@"; }     # FILE WORD
digest() { python3 "$MK" digest "$@"; }      # PATH...
put() { printf '%s\n' "$2" >"$1"; }          # FILE TEXT
skip() { echo "$1"; exit 77; }

# Runs a command and shows it, its standard output behind "|", its standard error behind "!", and its exit code.
try() {
	{ printf '$'; printf ' %s' "$@"; echo; } | cat -v
	"$@" >"$HOME/try.out" 2>"$HOME/try.err"
	code=$?
	sed 's/^/| /' "$HOME/try.out"
	sed 's/^/! /' "$HOME/try.err"
	echo "exit $code"
	return 0
}

# gptq-verify without the lines that depend on the machine.
verify() {
	gptq-verify "$@" >"$HOME/verify.out"
	verified=$?
	sed '/^  device  /d;/^  time  /d' "$HOME/verify.out"
	return $verified
}

# What `try` shows of a verbose report, without what depends on the machine: the last lines' figures.
cost() { sed -E 's/^(\|   (bytes|seconds|memory)  +).*/\1.../'; }

# Nothing at all is in the folder but what is named: no output, nothing under a temporary name.
only() {
	dir=$1
	shift
	for name in $(ls -A "$dir"); do
		case " $* " in
		*" $name "*) ;;
		*) echo "left behind: $name" ;;
		esac
	done
}

# The quantisation configs of a folder, their labels and records alone.
labels() {
	grep -rnE '"(checkpoint_format|format|packing_format|gptq_tools|v1_style)"' "$1" --include='*.json' | sort
}

# What gptq-inspect finds in a checkpoint under CODE, and how --check and --check=warning end.
finds() {
	code=$1
	shift
	gptq-inspect --json "$@" >"$HOME/json" 2>"$HOME/err"
	echo "exit $?"
	python3 "$TOOLS/findings.py" show "$code" <"$HOME/json" | sed 's/^/| /'
	sed 's/^/! /' "$HOME/err"
	for check in --check --check=warning; do
		gptq-inspect -q $check "$@" 2>/dev/null
		echo "$check: exit $?"
	done
}
