#!/bin/bash
# arm64.sh CHECK_HEAP CHECK_GUEST CHECK_GOROUTINES CHECK_LOCKS GO: compares heap, lock and goroutine
# profiles and counters of Go programs for arm64 with those that the programs make themselves. An
# emulator runs them at their own addresses. The programs are kept below $DEPS/go-heap-targets.
set -u
check=$1 guest=$2 check_goroutines=$3 check_locks=$4 go=$5
# shellcheck source=test/go-matrix/matrix.sh
. "$(dirname "$0")/matrix.sh"
versions=${GO_VERSIONS:-"1.17.13 debian 1.24.13 1.26.8 1.27.4"}
base=$(kept_in go-heap-targets/arm64 target goroutines locks counters)
export GOARCH=arm64

build_all() {
	build plain target 0 &&
		build stripped target 0 -trimpath -ldflags='-s -w' &&
		build pie target 0 -buildmode=pie -ldflags='-s -w' &&
		build locks locks 0 &&
		build locks-stripped locks 0 -trimpath -ldflags='-s -w' &&
		build goroutines goroutines 0 &&
		build goroutines-stripped goroutines 0 -trimpath -ldflags='-s -w' &&
		build counters counters 0 &&
		build counters-stripped counters 0 -trimpath -ldflags='-s -w'
}

# emulate NAME ARGUMENT…: starts a program in the emulator
emulate() {
	launch qemu-aarch64 -L /usr/aarch64-linux-gnu "$out/$1" "${@:2}" && said ready
}

# heap NAME RATE: the program is idle while both profiles are made
heap() {
	emulate "$1" "$2" && "$guest" heap "$pid" "$out/$1" "$work/ours" && fetch 'heap?gc=0' &&
		"$check" same "$work/ours" "$work/theirs"
}

# goroutines NAME
goroutines() {
	emulate "$1" "$work/theirs" && "$guest" goroutines "$pid" "$out/$1" "$work/ours" &&
		echo >&9 && said told &&
		"$check_goroutines" same "$work/ours" "$work/theirs" "$(profile_depth)"
}

# counters NAME: each of our five lines is among those that the program prints
counters() {
	emulate "$1" still && "$guest" counters "$pid" "$out/$1" "$work/ours" &&
		[ "$(wc -l <"$work/ours")" -eq 5 ] && ! grep -vxFf "$work/out" "$work/ours" &&
		echo same
}

# lock KIND NAME: compares one profile with the program's own
lock() {
	"$guest" "$1" "$pid" "$out/$2" "$work/ours" && fetch "$1" &&
		"$check_locks" same "$work/ours" "$work/theirs"
}

# locks NAME
locks() {
	emulate "$1" 10 100000 && echo >&9 && said worked && lock mutex "$1" && lock block "$1"
}

check_version() {
	try 3 heap plain 0
	try 3 heap stripped 4096
	try 3 heap pie 4096
	try 3 goroutines goroutines
	try 3 goroutines goroutines-stripped
	try 6 locks locks
	try 6 locks locks-stripped
	# before 1.19 one more span may be counted than when the program printed its counters
	[ "$version" = 1.17.13 ] || try 3 counters counters
	[ "$version" = 1.17.13 ] || try 3 counters counters-stripped
}

each_release "$(nproc)" "go matrix, arm64"
