#!/bin/bash
# node-test.sh SECONDS FILE: runs a file of Node.js tests, with the time limit of limit.sh.
#
# With CI set, a file that has failed runs once more, so that one test that met a busy machine does
# not cost the whole stage. What it printed the first time stands behind "first: ", where nothing
# is counted, and run-all.sh names the file at the end.
set -u
attempt()
{
	"$(dirname "$0")/limit.sh" "$1" node --test-reporter=spec "$2"
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
