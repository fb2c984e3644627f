#!/bin/bash
# Prints the folder with ClickHouse's client for Node.js.
set -eu
cd "$(dirname "$0")"
# shellcheck source=test/setup/kept.sh
. ../../setup/kept.sh

build()
{
	cp package.json package-lock.json "$1"
	npm ci --prefix "$1" --no-audit --no-fund --loglevel=error
}

kept sql-clients/node build fetch-node-client.sh package.json package-lock.json
