#!/bin/sh
# Runs unit test binaries; prints one line each and the whole output of those that fail.
# RUNNER: a command to run them under (valgrind …).
set -u
passed=0 failed=0
out=$(mktemp) || exit 1
trap 'rm -f "$out"' EXIT
for t in "$@"; do
	if ${RUNNER:-} "$t" >"$out" 2>&1; then
		n=$(sed -n 's/.*\[  PASSED  \] \([0-9]*\) test.*/\1/p' "$out")
		passed=$((passed + ${n:-1}))
		printf '  ok    %s (%s)\n' "${t##*/}" "${n:-1}"
	else
		failed=$((failed + 1))
		printf '  FAIL  %s\n' "${t##*/}"
		cat "$out"
	fi
done
echo "unit tests: $passed passed, $failed failed"
[ "$failed" -eq 0 ] && [ "$passed" -gt 0 ]
