#!/bin/bash
# Prints the folder with @pyroscope/nodejs.
set -eu
cd "$(dirname "$0")"
# shellcheck source=test/setup/kept.sh
. ../../setup/kept.sh

build()
{
	cp package.json package-lock.json "$1"
	# the native part comes built for each release of Node.js
	npm ci --prefix "$1" --ignore-scripts --no-audit --no-fund --loglevel=error
}

kept push/node build fetch-node-profiler.sh package.json package-lock.json
