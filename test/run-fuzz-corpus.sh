#!/bin/sh
# Replays every committed corpus through its fuzz target: run-fuzz-corpus.sh DIR fuzz_a fuzz_b …
set -u
dir=$1
shift
failed=0
for f in "$@"; do
	printf '  corpus %s: ' "${f#fuzz_}"
	"$dir/$f" "test/fuzz/corpus/${f#fuzz_}"/* || failed=1
done
exit $failed
