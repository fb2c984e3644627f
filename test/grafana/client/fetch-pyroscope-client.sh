#!/bin/bash
# Prints the folder with "pyroscope_client", the program here: go.mod and go.sum pin all that it
# needs.
set -euo pipefail
cd "$(dirname "$0")"
# shellcheck source=test/setup/kept.sh
. ../../setup/kept.sh

build()
{
	local go
	go=$(../../setup/go.sh)
	CGO_ENABLED=0 GOTOOLCHAIN=auto GOFLAGS=-buildvcs=false "$go" build -trimpath -mod=readonly \
		-ldflags='-s -w' -o "$1/pyroscope_client" .
}
kept grafana/pyroscope-client build go.mod go.sum ./*.go
