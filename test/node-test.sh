#!/bin/bash
# node-test.sh SECONDS FILE: runs a file of Node.js tests, with the time limit of limit.sh.
#
# With CI set, a file that has failed runs once more, so that one test that met a busy machine does
# not cost the whole stage. What it printed the first time stands behind "first: ", where nothing
# is counted, and run-all.sh names the file at the end. Says what the file took, because the stage
# is the longest way through "make test".
set -u
attempt()
{
	local from=$SECONDS cpu result TIMEFORMAT='%U %S'
	{
		cpu=$({ time "$(dirname "$0")/limit.sh" "$1" node --test-reporter=spec "$2" >&3 2>&4; } 2>&1)
		result=$?
	} 3>&1 4>&2
	awk -v file="$2" -v wall=$((SECONDS - from)) '{ printf "%s took %d s, and %.0f s of CPU time\n", file, wall, $1 + $2 }' <<<"$cpu"
	return "$result"
}
if [ -z "${CI:-}" ]; then
	attempt "$@"
	exit
fi
said=$(mktemp) || exit 1
trap 'rm -f "$said"' EXIT
if attempt "$@" >"$said" 2>&1; then
	cat "$said"
	exit 0
fi
sed 's/^/first: /' "$said"
echo "again: $2"
attempt "$@"
