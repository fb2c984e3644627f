#!/bin/bash
# variants.sh CHECK_HEAP CHECK_LOCKS CHECK_GOROUTINES CHECK_GC GO: everything that we read of Go
# programs, for programs built in unusual ways: with flags and experiments that change the runtime's
# code or its structures. The targets are kept below $DEPS/go-variant-targets. They have no symbols,
# so that variables must be found in the code.
set -u
check_heap=$1 check_locks=$2 check_goroutines=$3 check_gc=$4 go=$5
GO_VERSIONS=${GO_VARIANTS:-"
	1.18.10-unoptimized 1.21.13-unoptimized 1.25.3-unoptimized 1.27.4-unoptimized
	1.27.4-headerless 1.26.8-race 1.26.8-v3 1.26.8-random-heap
	1.25.3-green-tea 1.27.4-no-green-tea 1.26.8-gold
	1.13.15-bare 1.16.15-bare 1.18.10-bare 1.20.14-bare 1.23.4-bare 1.26.8-bare 1.27.4-bare
	1.17.13-bare-pie 1.25.3-bare-pie 1.27.4-bare-pie 1.25.3-bare-cgo-pie 1.26.8-bare-cgo-pie
	1.16.15-bare-headerless 1.23.4-bare-headerless 1.27.4-bare-headerless"}
# shellcheck source=test/go-matrix/matrix.sh
. "$(dirname "$0")/matrix.sh"
base=$(kept_in go-variant-targets target unprofiled locks goroutines counters)

# build_with CGO FLAGS…
build_with() {
	local name
	for name in target unprofiled locks goroutines counters; do
		build $name $name "$@" || return
	done
}

# zero FILE OFFSET COUNT: overwrites bytes with zeros
zero() {
	dd if=/dev/zero of="$1" bs=1 seek="$2" count="$3" conv=notrunc status=none
}

# remove_headers FILE: e_shoff is at 40, their size, number and names from 58 on
remove_headers() {
	zero "$1" 40 8 && zero "$1" 58 6
}

# build_bare CGO FLAGS…: without build id and build info, so that nothing names the release; 16
# bytes of the build info are enough to recognise it
build_bare() {
	local cgo=$1 name at
	shift
	build_with "$cgo" "$@" && for name in target unprofiled locks goroutines counters; do
		# done before, when it was built
		readelf -SW "$out/$name" 2>&1 | grep -q 'go\.buildinfo' || continue
		at=$(LC_ALL=C grep -abom1 -P '\xff Go buildinf:[\x04\x08]' "$out/$name" | cut -d: -f1)
		[ -z "$at" ] || zero "$out/$name" "$at" 16 || return
		objcopy --remove-section=.go.buildinfo "$out/$name" "$out/$name.bare" &&
			mv "$out/$name.bare" "$out/$name" || return
	done
}

# build_bare_headerless
build_bare_headerless() {
	local name
	build_bare 0 -ldflags='-s -w -buildid=' &&
		for name in target unprofiled locks goroutines counters; do
			remove_headers "$out/$name" || return
		done
}

# build_headerless: without section headers
build_headerless() {
	local name
	build_with 0 -ldflags='-s -w' && for name in target unprofiled locks goroutines counters; do
		remove_headers "$out/$name" || return
	done
}

build_all() {
	local variant=${version#*-}
	version=${version%%-*}
	case $variant in
	unoptimized) build_with 0 -gcflags='all=-N -l' -ldflags='-s -w' ;;
	headerless) build_headerless ;;
	bare) build_bare 0 -ldflags='-s -w -buildid=' ;;
	bare-pie) build_bare 0 -buildmode=pie -ldflags='-s -w -buildid=' ;;
	bare-cgo-pie)
		build_bare 1 -buildmode=pie -ldflags='-linkmode=external -s -w -buildid='
		;;
	bare-headerless) build_bare_headerless ;;
	# said, although it is the default: the linker leaves the flag out if its trial of gcc fails
	# for whatever reason, and the race detector cannot run in a position-independent executable
	race) build_with 1 -race -ldflags='-s -w -extldflags=-no-pie' ;;
	v3) GOAMD64=v3 build_with 0 -ldflags='-s -w' ;;
	gold) build_with 1 -ldflags='-s -w -linkmode=external -extldflags=-fuse-ld=gold' ;;
	random-heap) GOEXPERIMENT=randomizedheapbase64 build_with 0 -ldflags='-s -w' ;;
	green-tea) GOEXPERIMENT=greenteagc build_with 0 -ldflags='-s -w' ;;
	no-green-tea) GOEXPERIMENT=nogreenteagc build_with 0 -ldflags='-s -w' ;;
	esac
}

heap() {
	start target 4096 && "$check_heap" read "$pid" "$work/ours" && fetch 'heap?gc=0' &&
		"$check_heap" same "$work/ours" "$work/theirs"
}

# force: a program whose linker left the profiler out
force() {
	launch "$out/unprofiled" "$work/done" && said ready &&
		"$check_heap" force "$pid" "$work/done"
}

goroutines() {
	start goroutines "$work/theirs" &&
		"$check_goroutines" read "$pid" "$work/ours" "$(address)" &&
		echo >&9 && said told &&
		"$check_goroutines" same "$work/ours" "$work/theirs" "$(profile_depth)"
}

# same_locks KIND
same_locks() {
	"$check_locks" read "$pid" "$1" "$work/ours" && fetch "$1" &&
		"$check_locks" same "$work/ours" "$work/theirs"
}

locks() {
	start locks 0 0 && "$check_locks" on "$pid" mutex && "$check_locks" on "$pid" block &&
		echo >&9 && said worked && "$check_locks" off "$pid" block &&
		same_locks mutex && same_locks block &&
		"$check_locks" off "$pid" mutex && "$check_locks" rates "$pid" 0 0
}

counters() {
	start counters && "$check_gc" same "$pid" "$work/out"
}

check_version() {
	echo "  ${out##*/}"
	try 5 heap
	case $version in
	1.13.* | 1.16.*) ;; # their linkers leave the profiler on
	*) try 2 force ;;
	esac
	try 3 locks
	try 1 goroutines
	try 1 counters
}

each_release "$(nproc)" "variants of Go programs"
