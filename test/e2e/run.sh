#!/bin/bash
# Runs test/e2e/*.test.js one after the other, or those named: run.sh shares page
set -u
cd "$(dirname "$0")/../.." || exit 1
[ "$(id -u)" -eq 0 ] || { echo "e2e: needs root (the node-agent does)" >&2; exit 1; }

files=()
for f in "$@"; do
	files+=("test/e2e/$f.test.js")
done
[ $# -gt 0 ] || files=(test/e2e/*.test.js)

failed=0
for f in "${files[@]}"; do
	echo "== $f"
	# a test that hangs is a failure of its own, with its daemons gone
	timeout --kill-after=10 300 node --test-reporter=spec "$f" || failed=$((failed + 1))
done
[ "$failed" -eq 0 ]
