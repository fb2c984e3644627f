#!/bin/bash
# Runs the tests here; with words, only the clients whose name has one of them:
# run-push.sh go java
set -u
cd "$(dirname "$0")/../.." || exit 1
words=$*
files=(test/push/push_clients.test.js test/push/push_bodies.test.js)
[ -z "$words" ] || files=(test/push/push_clients.test.js)
failed=0
for f in "${files[@]}"; do
	PUSH_CLIENTS=$words RUN_DIR=build/push/run test/node-test.sh 1200 "$f" || failed=$((failed + 1))
done
[ "$failed" -eq 0 ]
