#!/bin/bash
# Runs test/soak/*.test.js one after the other, or those named: run-soak.sh kills disk
#
# "server" names those without a node-agent, which may run beside others, and "node" all others.
#
#   SOAK=long   in the sizes of "make soak": hundreds of kills, an outage of an hour
set -u
cd "$(dirname "$0")/../.." || exit 1
seconds=1200
[ "${SOAK:-}" != long ] || seconds=14400

# shellcheck source=test/test-files.sh
. test/test-files.sh
test_files test/soak 'damage disk kills receivers server' "$@"

failed=0
for f in "${files[@]}"; do
	echo "== $f"
	# a test that hangs is a failure of its own, and its daemons are killed
	RUN_DIR=build/soak/run test/node-test.sh "$seconds" "$f" || failed=$((failed + 1))
done
[ "$failed" -eq 0 ]
