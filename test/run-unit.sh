#!/bin/bash
# Runs unit test binaries; prints one line each with the time that it took, and the whole output
# of those that fail.
#
#   JOBS=N          so many at once (default: 1)
#   RUNNER=COMMAND  what runs them (valgrind …)
#   TEST_SECONDS=N  a binary that takes longer is shown with its stacks, killed and has failed
#   (limit.sh)
#
# With CI set, a binary that fails runs once more when all have run, alone; see node-test.sh.
set -u
here=$(dirname "$0")
jobs=${JOBS:-1}
seconds=${TEST_SECONDS:-600}
work=$(mktemp -d) || exit 1
trap 'rm -rf "$work"' EXIT
trap 'trap - INT TERM; jobs -p | xargs -r kill; wait; exit 130' INT TERM

# count WORD FILE: of cmocka's lines "[  PASSED  ] 12 test(s)." and the like
count()
{
	sed -n "s/.*\[  $1  \] \([0-9]*\) test.*/\1/p" "$2" | awk '{ n += $1 } END { print n + 0 }'
}

# run BINARY: leaves its counts in a file, and prints all that there is to say about it at once
run()
{
	local name=${1##*/} from=$EPOCHREALTIME took status p f s
	local out=$work/$name
	# shellcheck disable=SC2086 # a command and its options
	"$here/limit.sh" "$seconds" ${RUNNER:-} "$1" >"$out" 2>&1 </dev/null
	status=$?
	took=$(awk -v from="$from" -v to="$EPOCHREALTIME" 'BEGIN { printf "%.1f", to - from }')
	p=$(count PASSED "$out") f=$(count FAILED "$out") s=$(count SKIPPED "$out")
	# a crash, a sanitizer's report, lateness or no test at all are failures that cmocka did
	# not count
	if [ "$f" -eq 0 ] && { [ "$status" -ne 0 ] || [ "$p" -eq 0 ]; }; then
		f=1
	fi
	echo "$p $f $s" >"$out.counts"
	{
		if [ "$f" -eq 0 ]; then
			printf '  ok    %s (%s) %s s\n' "$name" "$p" "$took"
		else
			printf '  FAIL  %s (exit status %s) %s s\n' "$name" "$status" "$took"
			cat "$out"
		fi
		[ "$s" -eq 0 ] || sed -n 's/^\[  SKIPPED \] /  skip  /p' "$out"
	} >"$out.report"
	flock "$work" cat "$out.report"
}

# failed BINARY: whether it did not count what it found, or found a failure
failed()
{
	local f=1
	read -r _ f _ 2>/dev/null <"$work/${1##*/}.counts"
	[ "$f" -gt 0 ]
}

running=0
for t in "$@"; do
	if [ "$running" -ge "$jobs" ]; then
		wait -n
		running=$((running - 1))
	fi
	run "$t" &
	running=$((running + 1))
done
wait
for t in "$@"; do
	if [ -n "${CI:-}" ] && failed "$t"; then
		echo "again: $t"
		run "$t"
	fi
done
# a binary that left no counts has failed
cat "$work"/*.counts 2>/dev/null | awk -v n=$# '
	{ p += $1; f += $2; s += $3 }
	END {
		f += n - NR
		printf "unit tests: %d passed, %d failed, %d skipped\n", p, f, s
		exit f > 0 || p == 0
	}'
