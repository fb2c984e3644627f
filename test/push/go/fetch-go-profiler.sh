#!/bin/bash
# Prints the folder with "client", the program here with pyroscope-go.
set -euo pipefail
cd "$(dirname "$0")"
# shellcheck source=test/setup/kept.sh
. ../../setup/kept.sh

build()
{
	local go
	go=$(../../setup/go.sh)
	CGO_ENABLED=0 GOTOOLCHAIN=auto GOFLAGS=-buildvcs=false "$go" build -trimpath -mod=readonly \
		-o "$1/client" .
}
kept push/go build go.mod go.sum ./*.go
