#!/bin/bash
# goroutines.sh CHECK_GOROUTINES AGENT GO: compares goroutine profiles read from the memory of
# idle Go programs with those that the programs make themselves, and tries the agent's command
# that prints them. The targets are kept below $DEPS/go-goroutine-targets.
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

# start_shape NAME ARGUMENT: starts the target in the kind of process that its NAME stands for
start_shape() {
	case $1 in
	shared) start host 0 "$out/shared.so" "$2" ;;
	*) start "$@" ;;
	esac
}

# same NAME
same() {
	start_shape "$1" "$work/theirs" && "$check" read "$pid" "$work/ours" "$(address)" &&
		echo >&9 && said told &&
		"$check" same "$work/ours" "$work/theirs" "$(profile_depth)"
}

# plugin NAME: the same, and the profile has code of the plugin
plugin() {
	same "$1" && zcat "$work/ours" | grep -aq 'recurseInPlugin' &&
		zcat "$work/ours" | grep -aq 'goroutine_plugin.go'
}

# command_line NAME: what the command prints for a program that does not respond
command_line() {
	start "$1" "$work/theirs" && "$agent" goroutines "$pid" >"$work/text" &&
		grep -q '^300 goroutines \[chan receive\]' "$work/text" &&
		grep -q '^    main.receive .*goroutine_target.go:[0-9]*$' "$work/text" &&
		grep -qE '^1 goroutine \[(semacquire|sync.Mutex.Lock\])' "$work/text" &&
		"$agent" goroutines "$pid" --pprof "$work/ours" && echo >&9 && said told &&
		"$check" counts "$work/ours" "$work/theirs" &&
		! "$agent" goroutines $$ 2>"$work/text" &&
		grep -q 'not a Go program' "$work/text" &&
		! "$agent" goroutines 2>"$work/text" && grep -q 'usage' "$work/text" &&
		! "$agent" goroutines 4194304 2>"$work/text" &&
		grep -q 'no such process' "$work/text"
}

# busy NAME: no goroutine is missed or counted twice while they run
busy() {
	start "$1" "$work/theirs" busy && "$check" busy "$pid" "$(address)"
}

# On a busy machine a goroutine may not yet have reached the place where it waits.
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
