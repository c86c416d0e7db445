# SPDX-License-Identifier: Apache-2.0
# The sample checkpoints, converted where they lie: what is expected of a conversion into a new place, byte for byte.
for case in "$TESTDATA"/cases/*/; do
	for to in v1 v2; do
		[ -d "$case$to" ] || continue
		cp -r "${case}in" M
		chmod -R u+w M
		options=
		case $case in */half-converted/) options=--per-layer ;; esac
		if gptq-convert --to $to -q -i $options M 2>error; then
			diff -r M "$case$to" >/dev/null && echo "$(basename "$case") $to: the same"
		else
			echo "$(basename "$case") $to: exit $?"
			sed 's/, .*//' error
		fi
		rm -rf M
	done
done
