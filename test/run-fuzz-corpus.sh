#!/bin/bash
# Replays every committed corpus through its fuzz target, JOBS at once: run-fuzz-corpus.sh DIR
# fuzz_a fuzz_b … A target without a corpus fails: it would prove nothing.
set -u
dir=$1
shift
here=$(dirname "$0")
work=$(mktemp -d) || exit 1
trap 'rm -rf "$work"' EXIT
trap 'trap - INT TERM; jobs -p | xargs -r kill; wait; exit 130' INT TERM

replay()
{
	local corpus=test/fuzz/corpus/${1#fuzz_}
	if [ -n "$(ls "$corpus" 2>/dev/null)" ] &&
		"$here/limit.sh" "${TEST_SECONDS:-600}" "$dir/$1" "$corpus"/* >"$work/$1.log" 2>&1; then
		: >"$work/$1.passed"
	else
		echo "  FAIL  $1 on $corpus" >>"$work/$1.log"
	fi
	flock "$work" cat "$work/$1.log"
}

running=0
for f in "$@"; do
	if [ "$running" -ge "${JOBS:-1}" ]; then
		wait -n
		running=$((running - 1))
	fi
	replay "$f" &
	running=$((running + 1))
done
wait
passed=$(find "$work" -name '*.passed' | wc -l)
echo "fuzz corpora: $passed passed, $(($# - passed)) failed"
[ "$passed" -eq $# ]
