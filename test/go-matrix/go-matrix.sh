#!/bin/bash
# Heap profiles read from the memory of Go programs against those that the programs make themselves,
# for every layout of the runtime and way of linking: go-matrix.sh CHECK_HEAP GO
# "debian" is the release that Debian 12 has. The targets are kept below $DEPS/go-heap-targets, the toolchains where Go keeps its modules.
set -u
check=$1 go=$2
here=$(cd "$(dirname "$0")" && pwd)
versions=${GO_VERSIONS:-"1.15.15 1.17.13 debian 1.21.13 1.23.4 1.25.3 1.26.8 1.27rc1"}
base=$DEPS/go-heap-targets/$(cat "$here"/target/* "$here"/unprofiled/* | cksum | cut -d' ' -f1)
work=$(mktemp -d)
passed=0 failed=0 pid=
trap '[ -z "$pid" ] || kill "$pid" 2>/dev/null; rm -rf "$work"' EXIT

# build NAME CGO FLAGS…: the file $out/NAME, once
build() {
	local name=$1 cgo=$2 folder=target command=$go toolchain=go$version
	shift 2
	[ -x "$out/$name" ] && return
	[ "$version" = debian ] && command=/usr/lib/go-1.19/bin/go toolchain=
	[ "${name#unprofiled}" = "$name" ] || folder=unprofiled
	(cd "$here/$folder" && GOTOOLCHAIN=$toolchain CGO_ENABLED=$cgo GOFLAGS=-mod=mod \
		"$command" build -o "$out/$name" "$@" .)
}

build_all() {
	build plain 0 &&
		build stripped 0 -ldflags='-s -w' &&
		build trimmed 0 -trimpath -ldflags='-s -w' &&
		build pie 0 -buildmode=pie -ldflags='-s -w' &&
		build cgo 1 -ldflags='-linkmode=external -s -w' &&
		build cgo-pie 1 -buildmode=pie -ldflags='-linkmode=external -s -w' &&
		build static-pie 1 -buildmode=pie -tags=netgo,osusergo -ldflags='-linkmode=external -extldflags=-static-pie -s -w' &&
		build unprofiled 0 -ldflags='-s -w' &&
		build unprofiled-pie 0 -buildmode=pie -ldflags='-s -w'
}

# start NAME ARGUMENT: returns when it has said "ready"; its input is descriptor 9
start() {
	rm -f "$work/in"
	mkfifo "$work/in"
	: >"$work/out"
	"$out/$1" "$2" <"$work/in" >"$work/out" 2>&1 &
	pid=$!
	exec 9>"$work/in"
	for _ in $(seq 300); do
		grep -q '^ready' "$work/out" && break
		sleep 0.05
	done
}

stop() {
	exec 9>&-
	wait "$pid" 2>/dev/null
	pid=
}

# attempt NAME RATE: the program stands still while both profiles are made
attempt() {
	local same=1
	start "$1" "$2"
	"$check" read "$pid" "$work/ours" &&
		curl -sf --max-time 20 "http://$(sed -n 's/^ready //p' "$work/out")/debug/pprof/heap?gc=0" >"$work/theirs" &&
		"$check" same "$work/ours" "$work/theirs" && same=0
	stop
	return $same
}

# force NAME: a program that the linker has made without a profiler. One in a hundred honest
# measurements is outside of three standard deviations with one of two functions.
force() {
	local good=1
	for _ in 1 2; do
		printf '  go%-8s %-14s ' "$version" "$1"
		rm -f "$work/done"
		start "$1" "$work/done"
		"$check" force "$pid" "$work/done" && good=0
		stop
		[ $good -eq 0 ] && passed=$((passed + 1)) && return
	done
	failed=$((failed + 1))
}

# worker NAME: as the agent does it, with a /proc that has this program only
worker() {
	printf '  go%-8s %-14s ' "$version" "$1"
	start "$1" "$work/done"
	rm -rf "$work/proc"
	mkdir "$work/proc"
	ln -s "/proc/$pid" "$work/proc/$pid"
	if "$check" worker "$work/proc" "$pid"; then
		passed=$((passed + 1))
	else
		failed=$((failed + 1))
	fi
	stop
}

# compare NAME RATE: all values of all stacks must be the same. A runtime that starts one more thread
# between the last garbage collection and our reading spoils an attempt, not three of them.
compare() {
	local name=$1 rate=$2
	for _ in 1 2 3; do
		printf '  go%-8s %-10s rate %-6s ' "$version" "$name" "$rate"
		if attempt "$name" "$rate"; then
			passed=$((passed + 1))
			return
		fi
	done
	failed=$((failed + 1))
}

for version in $versions; do
	out=$base/$version
	mkdir -p "$out"
	if ! build_all; then
		echo "  go$version: cannot be built"
		failed=$((failed + 1))
		continue
	fi
	for name in plain stripped trimmed pie cgo cgo-pie static-pie; do
		compare "$name" 0
		compare "$name" 4096
	done
	case $version in
	1.15.*) ;; # its linker leaves the profiler on
	*) force unprofiled && force unprofiled-pie ;;
	esac
	[ "$version" != 1.26.8 ] || worker unprofiled
done
echo "go matrix: $passed passed, $failed failed"
[ "$failed" -eq 0 ]
