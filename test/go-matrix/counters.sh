#!/bin/bash
# counters.sh CHECK_GC CHECK_CONTAINERS GO: compares counters of the memory manager, read from the
# memory of Go programs, with those that the programs get from their runtime, for every layout of
# the runtime. The targets are kept below $DEPS/go-counters-targets.
set -u
check=$1 check_containers=$2 go=$3
# shellcheck source=test/go-matrix/matrix.sh
. "$(dirname "$0")/matrix.sh"
base=$(kept_in go-counters-targets counters)

build_all() {
	build plain counters 0 &&
		build stripped counters 0 -ldflags='-s -w' &&
		build pie counters 0 -buildmode=pie -ldflags='-s -w'
}

# same NAME
same() {
	start "$1" && "$check" same "$pid" "$work/out"
}

# limited NAME: with a memory limit
limited() {
	GOMEMLIMIT=60MiB same "$1"
}

# worker NAME: as the agent reads them, with a /proc that has only this program
worker() {
	mkdir "$work/proc"
	"$check_containers" "$work/proc" "$out/$1" "$work/out"
}

# busy NAME
busy() {
	start "$1" busy && "$check" watch "$pid"
}

# Sampled values are further off than allowed once in ten thousand times, and a collection may
# happen between the two readings.
check_version() {
	for name in plain stripped pie; do
		try 3 same "$name"
	done
	try 3 limited plain
	try 3 worker plain
	try 3 busy stripped
}

each_release "$(nproc)" "go counters"
