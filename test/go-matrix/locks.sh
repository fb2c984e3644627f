#!/bin/bash
# locks.sh CHECK_LOCKS GO: compares mutex and block profiles read from the memory of Go programs
# with those that the programs make themselves, with rates set by the program and by us. The
# targets are kept below $DEPS/go-lock-targets.
set -u
check=$1 go=$2
# shellcheck source=test/go-matrix/matrix.sh
. "$(dirname "$0")/matrix.sh"
base=$(kept_in go-lock-targets locks host)

build_all() {
	build plain locks 0 &&
		build stripped locks 0 -trimpath -ldflags='-s -w' &&
		build pie locks 0 -buildmode=pie -ldflags='-s -w' &&
		build bare locks 0 -tags=bare -ldflags='-s -w' &&
		build shared.so locks 1 -tags=shared -buildmode=c-shared -ldflags='-s -w' &&
		cc -O1 -o "$out/host" "$here/host/shared_host.c" -pthread -ldl
}

# start_shape NAME MUTEX_RATE BLOCK_RATE: starts the target in the kind of process that its NAME
# stands for
start_shape() {
	case $1 in
	shared) start host 0 "$out/shared.so" "$2,$3" ;;
	*) start "$@" ;;
	esac
}

# switch on|off KIND
switch() {
	"$check" "$1" "$pid" "$2"
}

# same KIND: compares our profile of the idle program with its own
same() {
	"$check" read "$pid" "$1" "$work/ours" && fetch "$1" &&
		"$check" same "$work/ours" "$work/theirs"
}

# theirs NAME MUTEX_RATE BLOCK_RATE: rates that the program has set stay
theirs() {
	start_shape "$@" && echo >&9 && said worked && same mutex && same block &&
		"$check" rates "$pid" "$2" 0
}

# ours NAME: an agent switches both on and is killed, the next one switches them off
ours() {
	start_shape "$1" 0 0 && "$check" rates "$pid" 0 0 && switch on mutex && switch on block &&
		"$check" rates "$pid" 113 33554432 &&
		echo >&9 && said worked && switch off block && same mutex && same block &&
		switch off mutex && "$check" rates "$pid" 0 0
}

# shows KIND FUNCTION
shows() {
	"$check" read "$pid" "$1" "$work/ours" && "$check" shows "$work/ours" "  $2 "
}

# bare NAME: a program that does not import net/http/pprof
bare() {
	start "$1" 0 0 && switch on mutex && switch on block && echo >&9 && said worked &&
		switch off block && switch off mutex && "$check" rates "$pid" 0 0 &&
		shows mutex main.holdDeep && shows block main.channels
}

# Contention of a lock of the runtime between our reading and theirs spoils an attempt, and at a
# rate as low as ours one attempt in twenty misses a function altogether; six in a row do not.
check_version() {
	try 6 theirs plain 1 1
	try 6 theirs stripped 10 100000
	try 6 theirs pie 1 1
	try 6 theirs shared 1 1
	try 6 ours plain
	try 6 ours stripped
	try 6 ours shared
	try 6 bare bare
}

# twice as many as there are CPUs, because they wait most of the time
each_release $((2 * $(nproc))) "locks of the go matrix"
