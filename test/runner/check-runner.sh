#!/bin/bash
# Tests the runner of the unit tests and its time limit: check-runner.sh HANGS
set -u
hangs=$(realpath "$1")
here=$(cd "$(dirname "$0")/.." && pwd)
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
passed=0 failed=0

# binary NAME COMMAND: a test binary that does that
binary()
{
	printf '#!/bin/sh\n%s\n' "$2" >"$work/$1"
	chmod +x "$work/$1"
}
# run SECONDS NAME...: its status and output
run()
{
	local seconds=$1
	shift
	# shellcheck disable=SC2068 # names
	TEST_SECONDS=$seconds JOBS=4 "$here/run-unit.sh" ${@/#/$work/} >"$work/output" 2>&1
	status=$?
}
# check SENTENCE COMMAND...
check()
{
	local what=$1
	shift
	if "$@"; then
		passed=$((passed + 1))
		echo "  ok    $what"
	else
		failed=$((failed + 1))
		echo "  FAIL  $what; the output was:"
		cat "$work/output"
	fi
}
says()
{
	grep -qE -- "$1" "$work/output"
}
fails_with()
{
	[ "$status" -ne 0 ] && says "^unit tests: $1\$"
}
nothing_is_left()
{
	# the marker is in the environment of everything that a binary starts
	! grep -qzs "^RUNNER_TEST=$work\$" /proc/[0-9]*/environ
}
export RUNNER_TEST=$work

binary good 'echo "[  PASSED  ] 2 test(s)."'
binary bad 'echo "[  PASSED  ] 1 test(s)."; echo "[  FAILED  ] 1 test(s)."; exit 1'
binary crash 'echo "[  PASSED  ] 3 test(s)."; kill -SEGV $$'
binary empty 'exit 0'
binary leaves 'setsid sleep 1000 & exit 1'
binary sleeps 'setsid sh -c "sleep 1000; :" & echo "[  PASSED  ] 5 test(s)."; wait'
binary asleep "exec $hangs asleep"
binary silent "exec $hangs silent"
binary swallowed "exec $hangs swallowed"
binary failing "exec $hangs failing"

run 60 good
check "a binary that passes" test "$status" -eq 0
check "its tests are counted" says '^unit tests: 2 passed, 0 failed, 0 skipped$'
run 60 good bad crash empty
check "failures, crashes and binaries without tests are counted" \
	fails_with '6 passed, 3 failed, 0 skipped'
run 60 leaves
check "what a failed binary leaves behind is killed" nothing_is_left
from=$SECONDS
run 3 good sleeps
check "a binary that hangs has failed, and others have not" \
	fails_with '7 passed, 1 failed, 0 skipped'
check "its processes are shown with their stacks" says '^==== process [0-9]+ \(sleep\)'
check "it is killed with all of its processes" nothing_is_left
run 3 asleep
check "the debugger says where a thread stands" says '^#[0-9]+ .* sleep_forever'
run 3 silent
check "a thread that waits for a file has failed" fails_with '0 passed, 1 failed, 0 skipped'
check "the kernel says where it stands" says '^-- thread [0-9]+ \(hangs\): [SD] '
check "it is killed" nothing_is_left
run 3 swallowed
check "a thread that ignores signals has failed" fails_with '0 passed, 1 failed, 0 skipped'
check "it is killed too" nothing_is_left
run 60 failing
check "a test that fails while a thread hangs ends" fails_with '0 passed, 1 failed, 0 skipped'
check "it needs no limit for that" test -z "$(grep '^limit: not done' "$work/output")"
check "limits are kept" test $((SECONDS - from)) -lt 300
echo "runner: $passed passed, $failed failed"
[ "$failed" -eq 0 ]
