#!/bin/sh
# Replays every committed corpus through its fuzz target: run-fuzz-corpus.sh DIR fuzz_a fuzz_b …
# A target without a corpus fails: it would prove nothing.
set -u
dir=$1
shift
passed=0 failed=0
for f in "$@"; do
	corpus=test/fuzz/corpus/${f#fuzz_}
	if [ -n "$(ls "$corpus" 2>/dev/null)" ] && "$dir/$f" "$corpus"/*; then
		passed=$((passed + 1))
	else
		echo "  FAIL  $f on $corpus"
		failed=$((failed + 1))
	fi
done
echo "fuzz corpora: $passed passed, $failed failed"
[ "$failed" -eq 0 ]
