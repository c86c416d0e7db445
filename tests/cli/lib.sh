# SPDX-License-Identifier: Apache-2.0
# shellcheck shell=sh
# Functions of the command-line cases. Read by run.py before each of them.

model() { python3 "$MK" model "$@"; }        # DIR [KEY=VALUE...]
file() { python3 "$MK" file "$@"; }          # FILE [KEY=VALUE...]
tensor() { python3 "$MK" set "$@"; }         # FILE NAME KEY=VALUE...
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
