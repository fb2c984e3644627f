#!/bin/bash
# Prints the path of an OpenTelemetry Collector with OTLP in and out and nothing else, built from
# collector/ by the Go command of test/setup/go.sh, once: about a minute of CPU time, kept in $DEPS
# by the hash of its sources.
set -eu
cd "$(dirname "$0")/../.."
export DEPS=${DEPS:-${XDG_CACHE_HOME:-$HOME/.cache}/coroot-agents}
# shellcheck source=test/setup/kept.sh
. test/setup/kept.sh

build()
{
	local go status=0
	go=$(test/setup/go.sh)
	export GOCACHE="$1.caches/go" GOMODCACHE="$1.caches/mod" GOTOOLCHAIN=auto CGO_ENABLED=0
	export GOFLAGS='-trimpath -buildvcs=false -mod=readonly -modcacherw'
	"$go" -C test/otlp/collector build -ldflags '-s -w' -o "$1/otlp-collector" . || status=$?
	rm -rf "$1.caches"
	[ "$status" -eq 0 ] ||
		echo "build-collector.sh: the Collector's Go modules could not be fetched or compiled" >&2
	return "$status"
}

dir=$(kept otlp/collector build test/otlp/collector/{go.mod,go.sum,collector.go})
echo "$dir/otlp-collector"
