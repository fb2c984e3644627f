#!/bin/bash
# Goroutine profiles read from the memory of Go programs that stand still against those that the programs make
# themselves, and the command of the agent that prints them: goroutines.sh CHECK_GOROUTINES AGENT GO
# The targets are kept below $DEPS/go-goroutine-targets.
set -u
check=$1 agent=$2 go=$3
# shellcheck source=test/go-matrix/matrix.sh
. "$(dirname "$0")/matrix.sh"
base=$(kept_in go-goroutine-targets goroutines goroutine_plugin host)

build_all() {
	build plain goroutines 0 &&
		build stripped goroutines 0 -trimpath -ldflags='-s -w' &&
		build pie goroutines 0 -buildmode=pie -ldflags='-s -w' &&
		build cgo goroutines 1 -ldflags='-linkmode=external -s -w' &&
		build plugin goroutines 1 -tags=plugins -ldflags='-s -w' &&
		build plugin.so goroutine_plugin 1 -buildmode=plugin -ldflags='-s -w' &&
		build shared.so goroutines 1 -tags=shared -buildmode=c-shared -ldflags='-s -w' &&
		cc -O1 -o "$out/host" "$here/host/shared_host.c" -pthread -ldl
}

# start_shape NAME ARGUMENT: the target in a process as NAME wants it
start_shape() {
	case $1 in
	shared) start host 0 "$out/shared.so" "$2" ;;
	*) start "$@" ;;
	esac
}

# same NAME
same() {
	start_shape "$1" "$work/theirs" && "$check" read "$pid" "$work/ours" "$(address)" && echo >&9 && said told &&
		"$check" same "$work/ours" "$work/theirs" "$(profile_depth)"
}

# plugin NAME: the same, and code of the plugin is in it
plugin() {
	same "$1" && zcat "$work/ours" | grep -aq 'recurseInPlugin' && zcat "$work/ours" | grep -aq 'goroutine_plugin.go'
}

# command_line NAME: what a person sees, who looks at a program that never answers
command_line() {
	start "$1" "$work/theirs" && "$agent" goroutines "$pid" >"$work/text" &&
		grep -q '^300 goroutines \[chan receive\]' "$work/text" &&
		grep -q '^    main.receive .*goroutine_target.go:[0-9]*$' "$work/text" &&
		grep -q '^1 goroutine \[semacquire\|^1 goroutine \[sync.Mutex.Lock\]' "$work/text" &&
		"$agent" goroutines "$pid" --pprof "$work/ours" && echo >&9 && said told &&
		"$check" counts "$work/ours" "$work/theirs" &&
		! "$agent" goroutines $$ 2>"$work/text" && grep -q 'not a Go program' "$work/text" &&
		! "$agent" goroutines 2>"$work/text" && grep -q 'usage' "$work/text" &&
		! "$agent" goroutines 4194304 2>"$work/text" && grep -q 'no such process' "$work/text"
}

# busy NAME: none is lost or counted twice, whatever they do
busy() {
	start "$1" "$work/theirs" busy && "$check" busy "$pid" "$(address)"
}

# On a busy machine one may still be on its way to where it stands still.
check_version() {
	export GOROUTINE_PLUGIN=$out/plugin.so
	for name in plain stripped pie cgo shared; do
		try 3 same "$name"
	done
	try 1 plugin plugin
	case $version in
	1.15.15 | debian | 1.26.8) try 3 command_line stripped && try 3 busy stripped ;;
	esac
}

each_release "$(nproc)" "goroutines of the go matrix"
