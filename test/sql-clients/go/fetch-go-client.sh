#!/bin/bash
# fetch-go-client.sh RELEASE: prints the folder with "client", the program here with that release of
# clickhouse-go: RELEASE.mod and RELEASE.sum pin it and all that it needs.
set -euo pipefail
cd "$(dirname "$0")"
# shellcheck source=test/setup/kept.sh
. ../../setup/kept.sh
release=$1

build()
{
	local go
	go=$(../../setup/go.sh)
	CGO_ENABLED=0 GOTOOLCHAIN=auto GOFLAGS=-buildvcs=false "$go" build -trimpath -mod=readonly \
		-modfile="$release.mod" -ldflags='-s -w' -o "$1/client" .
}
kept "sql-clients/clickhouse-go-$release" build "$release.mod" "$release.sum" ./*.go
