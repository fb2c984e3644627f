#!/bin/sh
# Runs unit test binaries; prints one line each and the whole output of those that fail.
# RUNNER: a command to run them under (valgrind …).
set -u
passed=0 failed=0 skipped=0
out=$(mktemp) || exit 1
trap 'rm -f "$out"' EXIT

# cmocka's "[  PASSED  ] 12 test(s)." and the like
count() { sed -n "s/.*\[  $1  \] \([0-9]*\) test.*/\1/p" "$out" | awk '{ n += $1 } END { print n + 0 }'; }

for t in "$@"; do
	${RUNNER:-} "$t" >"$out" 2>&1 </dev/null
	status=$?
	p=$(count PASSED) f=$(count FAILED) s=$(count SKIPPED)
	# a crash, a sanitizer's report or no test at all are failures that cmocka did not count
	if [ "$f" -eq 0 ] && { [ "$status" -ne 0 ] || [ "$p" -eq 0 ]; }; then
		f=1
	fi
	passed=$((passed + p)) failed=$((failed + f)) skipped=$((skipped + s))
	if [ "$f" -eq 0 ]; then
		printf '  ok    %s (%s)\n' "${t##*/}" "$p"
	else
		printf '  FAIL  %s (exit status %s)\n' "${t##*/}" "$status"
		cat "$out"
	fi
	[ "$s" -eq 0 ] || sed -n 's/^\[  SKIPPED \] /  skip  /p' "$out"
done
echo "unit tests: $passed passed, $failed failed, $skipped skipped"
[ "$failed" -eq 0 ] && [ "$passed" -gt 0 ]
