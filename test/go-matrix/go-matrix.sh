#!/bin/bash
# go-matrix.sh CHECK_HEAP GO: compares heap profiles read from the memory of Go programs with those
# that the programs make themselves, for every layout of the runtime and way of linking. The targets
# are kept below $DEPS/go-heap-targets.
#
# Releases that changed structures or ways of linking are tried in every shape, those between them
# in three.
set -u
check=$1 go=$2
# shellcheck source=test/go-matrix/matrix.sh
. "$(dirname "$0")/matrix.sh"
whole=" 1.13.15 1.16.15 debian 1.21.13 1.24.13 1.26.8 1.27.4 "
base=$(kept_in go-heap-targets target unprofiled plugin host)

# ---- programs ----

build_few() {
	build plain target 0 &&
		build stripped target 0 -ldflags='-s -w' &&
		build pie target 0 -buildmode=pie -ldflags='-s -w' &&
		build unprofiled unprofiled 0 -ldflags='-s -w'
}

build_rest() {
	build trimmed target 0 -trimpath -ldflags='-s -w' &&
		build cgo target 1 -ldflags='-linkmode=external -s -w' &&
		build cgo-pie target 1 -buildmode=pie -ldflags='-linkmode=external -s -w' &&
		build static-pie target 1 -buildmode=pie -tags=netgo,osusergo \
			-ldflags='-linkmode=external -extldflags=-static-pie -s -w' &&
		build plugin target 1 -tags=plugins -ldflags='-s -w' &&
		build plugin.so plugin 1 -buildmode=plugin -ldflags='-s -w' &&
		build shared.so target 1 -tags=shared -buildmode=c-shared -ldflags='-s -w' &&
		build shared-2.so target 1 -tags=shared -buildmode=c-shared &&
		build unprofiled-pie unprofiled 0 -buildmode=pie -ldflags='-s -w' &&
		build unprofiled-shared.so unprofiled 1 -tags=shared -buildmode=c-shared \
			-ldflags='-s -w' &&
		cc -O1 -o "$out/host" "$here/host/shared_host.c" -pthread -ldl
}

# launch_shape NAME ARGUMENT: starts the target in the kind of process that its NAME stands for
launch_shape() {
	local command=("$out/$1" "$2")
	case $1 in
	plugin) command+=("$out/plugin.so") ;;
	*shared) command=("$out/host" 0 "$out/$1.so" "$2") ;;
	late) command=("$out/host" 1500000 "$out/unprofiled-shared.so" "$2") ;;
	two) command=("$out/host" 0 "$out/shared.so" "$out/shared-2.so" "$2") ;;
	esac
	launch "${command[@]}"
}

start_shape() {
	launch_shape "$@" && said ready
}

# ---- checks ----

# heap NAME RATE: the program is idle while both profiles are made, so all values of all stacks must
# be equal.
heap() {
	start_shape "$1" "$2" && "$check" read "$pid" "$work/ours" && fetch 'heap?gc=0' &&
		"$check" same "$work/ours" "$work/theirs"
}

# often NAME: profiles of many intervals, while the program works, add up to what it reports at the
# end, to the last byte
often() {
	local reader status
	launch_shape "$1" 0
	"$check" often "$pid" "$work/done" "$work/sums" &
	reader=$!
	said ready
	status=$?
	touch "$work/done"
	wait "$reader" && [ $status -eq 0 ] && fetch 'heap?gc=0' &&
		"$check" sums "$work/sums" "$work/theirs"
}

# plugin NAME RATE: the same, and the profile has code of the plugin
plugin() {
	heap "$1" "$2" && zcat "$work/ours" | grep -aq 'keptByPlugin' &&
		zcat "$work/ours" | grep -aq 'heap_plugin.go'
}

# force NAME: a program whose linker left the profiler out
force() {
	start_shape "$1" "$work/done" && "$check" force "$pid" "$work/done"
}

# two RATE: a process with two Go runtimes, each of which has a profile of its own
two() {
	local good=1 i
	start_shape two "$1"
	for _ in $(seq 3000); do
		[ "$(grep -c '^ready' "$work/out")" -eq 2 ] && break
		sleep 0.05
	done
	"$check" read "$pid" "$work/ours.1" "$out/shared.so" &&
		"$check" read "$pid" "$work/ours.2" "$out/shared-2.so" &&
		for i in 1 2; do
			curl -sf --max-time 300 -o "$work/theirs.$i" \
				"http://$(address | sed -n ${i}p)/debug/pprof/heap?gc=0"
		done
	# either library may have been ready first
	for i in "1 2" "2 1"; do
		"$check" same "$work/ours.1" "$work/theirs.${i% *}" >"$work/same" &&
			"$check" same "$work/ours.2" "$work/theirs.${i#* }" >>"$work/same" &&
			good=0 && break
	done
	paste -s "$work/same"
	return $good
}

# command_of NAME: the node-agent's command prints the goroutines of a process whose Go is in a
# library
command_of() {
	start_shape "$1" 0 && "$NODE_AGENT" goroutines "$pid" >"$work/text" &&
		grep -q 'main.run_target' "$work/text" && head -n 1 "$work/text"
}

# command_of_others NAME: the same for a process that has also loaded a library of an unsupported
# release
command_of_others() {
	cc -shared -fPIC -o "$work/old.so" "$here/old/old_library.c" || return 1
	for order in "$out/$1.so $work/old.so" "$work/old.so $out/$1.so"; do
		# shellcheck disable=SC2086
		launch "$out/host" 0 $order 0
		said ready && said loaded &&
			"$NODE_AGENT" goroutines "$pid" >"$work/text" 2>"$work/errors" &&
			grep -q 'main.run_target' "$work/text" &&
			head -n 1 "$work/text" | grep -q "of $out/$1.so" &&
			[ "$(wc -l <"$work/errors")" -eq 1 ] &&
			grep -q "$work/old.so: unsupported release" "$work/errors" || return 1
		stop
	done
	launch "$out/host" 0 "$work/old.so" 0
	said loaded && ! "$NODE_AGENT" goroutines "$pid" 2>"$work/errors" &&
		grep -q "$work/old.so: unsupported release" "$work/errors" && cat "$work/errors"
}

# overwritten NAME: another process of the program, with other names in its memory, is read first
overwritten() {
	local other status
	mkfifo "$work/other"
	"$out/$1" 4096 <"$work/other" >"$work/out" 2>&1 &
	other=$!
	exec 8>"$work/other"
	said ready && "$check" rename "$other" && start "$1" 4096 &&
		"$check" after "$other" "$pid" "$work/ours" && fetch 'heap?gc=0' &&
		"$check" same "$work/ours" "$work/theirs"
	status=$?
	kill "$other"
	exec 8>&-
	wait "$other" 2>/dev/null
	return $status
}

# in_file NAME: names come from the file, even if the process's memory has others
in_file() {
	start_shape "$1" 4096 && "$check" rename "$pid" && "$check" read "$pid" "$work/ours" &&
		zcat "$work/ours" | grep -aq 'main\.' && ! zcat "$work/ours" | grep -aq 'evil\.'
}

# has_relocated_names NAME: the tables of functions contain addresses, which are not in the file
has_relocated_names() {
	case $version-$1 in
	1.13.*-plain | 1.14.*-plain | 1.15.*-plain | 1.16.*-plain | 1.17.*-plain) false ;;
	1.13.* | 1.14.* | 1.15.* | 1.16.* | 1.17.*) true ;;
	*) false ;;
	esac
}

# check_in_file NAME…
check_in_file() {
	for name in "$@"; do
		has_relocated_names "$name" || try 1 in_file "$name"
	done
}

# worker NAME: as the agent reads it, with a /proc that has only this program
worker() {
	launch_shape "$1" "$work/done"
	mkdir "$work/proc"
	ln -s "/proc/$pid" "$work/proc/$pid"
	"$check" worker "$work/proc" "$pid"
}

# A runtime that starts one more thread between the last garbage collection and our reading spoils
# one comparison, not five of them.
check_few() {
	for name in plain stripped pie; do
		try 5 heap "$name" 0
		try 5 heap "$name" 4096
	done
	try 5 often stripped
	try 5 overwritten stripped
	try 5 overwritten pie
	check_in_file plain pie
}

check_rest() {
	for name in trimmed cgo cgo-pie static-pie shared; do
		try 5 heap "$name" 4096
	done
	try 5 plugin plugin 4096
	check_in_file cgo-pie static-pie shared
}

# One in a hundred correct measurements is outside three standard deviations for one of the two
# functions: four attempts with some forty programs fail by chance in one of a million runs.
check_forced() {
	for name in "$@"; do
		if [ -e "$out/$name" ] || [ -e "$out/$name.so" ]; then
			try 4 force "$name"
		fi
	done
}

is_whole() {
	[ "${whole#* "$version" }" != "$whole" ]
}

build_all() {
	build_few && { ! is_whole || build_rest; }
}

check_version() {
	check_few
	is_whole && check_rest
	case $version in
	1.13.* | 1.14.* | 1.15.* | 1.16.*) ;; # their linkers leave the profiler on
	*) check_forced unprofiled unprofiled-pie unprofiled-shared ;;
	esac
	if [ "$version" = 1.26.8 ]; then
		try 5 two 4096
		try 2 command_of shared
		try 2 command_of_others shared
		try 3 worker unprofiled
		try 3 worker late
	fi
}

each_release "$(nproc)" "go matrix"
