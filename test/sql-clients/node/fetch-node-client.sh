#!/bin/bash
# Prints the folder with ClickHouse's client for Node.js.
set -eu
cd "$(dirname "$0")"
# shellcheck source=test/sql-clients/kept.sh
. ../kept.sh

build()
{
	cp package.json package-lock.json "$1"
	npm ci --prefix "$1" --no-audit --no-fund --loglevel=error
}

kept node build fetch-node-client.sh package.json package-lock.json
