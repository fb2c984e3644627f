#!/bin/bash
# Runs the clients of clients.test.js, or those whose name has one of the given words:
# run-sql-clients.sh curl go
set -u
cd "$(dirname "$0")/../.." || exit 1
words=$*
SQL_CLIENTS=$words RUN_DIR=build/sql-clients/run exec test/node-test.sh 1200 \
	test/sql-clients/clients.test.js
