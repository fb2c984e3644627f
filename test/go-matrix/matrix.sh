# shellcheck shell=bash
# What the scripts of this folder share; they source it. A script sets $go, a command that fetches
# any release by itself; $base, where its targets are kept (see kept_in); and $versions, if it
# wants other releases than those of the list.
#
# Programs    kept_in, build     kept as long as sources, release and flags are the same; "debian"
#                                is the release that Debian 12 has
# A target    launch, start,     one at a time, $pid; descriptor 9 is its input, $work/out what it
#             said, stop         prints
#             address, fetch     where it serves, and its own profile
# Results     try, count, report report prints "N passed, N failed" as test/run-all.sh reads it
# Releases    each_release       runs the script's build_all and check_version, with $version and
#                                $out
#
# $work is a folder for files, which is removed at the end; try empties it before each attempt.
set -u
here=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
versions=${GO_VERSIONS:-$(cat "$here/releases")}
scratch=$(mktemp -d)
work=$scratch version='' out='' base='' pid='' passed=0 failed=0
trap '[ -z "$pid" ] || kill "$pid" 2>/dev/null; rm -rf "$scratch"' EXIT

# ---- programs ----

# kept_in NAME FOLDER…: prints the folder below $DEPS for targets whose sources are in these
# folders, which are beside this file
kept_in() {
	local name=$1 folder
	shift
	echo "$DEPS/$name/$(for folder; do cat "$here/$folder"/*; done | cksum | cut -d' ' -f1)"
}

# build NAME FOLDER CGO FLAGS…: builds $out/NAME from FOLDER, which is beside this file or an
# absolute path; does nothing if release and flags are those of the last build
build() {
	local name=$1 folder=$2 cgo=$3 command=${go:?}
	local toolchain=go$version new=$out/new.$BASHPID key
	shift 3
	key="$version $cgo ${GOARCH:-} ${GOAMD64:-} ${GOEXPERIMENT:-} $*"
	[ -e "$out/$name" ] && [ "$(cat "$out/$name.key" 2>/dev/null)" = "$key" ] && return
	[ "$version" = debian ] && command=/usr/lib/go-1.19/bin/go toolchain=
	mkdir -p "$new"
	# a value of GOFLAGS that every release understands, because the machine's would apply if it
	# were empty
	(cd "$here" && cd "$folder" && GOTOOLCHAIN=$toolchain CGO_ENABLED=$cgo GOFLAGS=-v=false \
		"$command" build -o "$new/$name" "$@" .) &&
		mv "$new/$name" "$out/$name" && echo "$key" >"$out/$name.key"
	set -- $?
	rm -rf "$new"
	return "$1"
}

# ---- a target ----

# launch COMMAND…
launch() {
	rm -f "$work/in"
	mkfifo "$work/in"
	: >"$work/out"
	"$@" <"$work/in" >"$work/out" 2>&1 &
	pid=$!
	exec 9>"$work/in"
}

# said WORD: waits until the target has printed it, five minutes at most; fails at once if $pid
# exits
said() {
	local alive=1
	for _ in $(seq 6000); do
		grep -q "^$1" "$work/out" && return
		[ -n "$alive" ] || break
		[ -z "$pid" ] || kill -0 "$pid" 2>/dev/null || alive=
		sleep 0.05
	done
	echo "it has not printed \"$1\" but: $(tail -n 1 "$work/out")"
	return 1
}

# start NAME ARGUMENT…: starts $out/NAME and waits until it has printed "ready"
start() {
	launch "$out/$1" "${@:2}" && said ready
}

# stop: closes the target's input, which makes it exit
stop() {
	exec 9>&-
	wait "$pid" 2>/dev/null
	pid=
}

# address: what it has printed after "ready"
address() {
	sed -n 's/^ready //p' "$work/out"
}

# fetch PROFILE: saves the target's own profile as $work/theirs
fetch() {
	curl -sf --max-time 300 "http://$(address)/debug/pprof/$1" >"$work/theirs"
}

# profile_depth: how many calls of a goroutine the target's own profile shows
profile_depth() {
	local minor=${version#1.}
	minor=${minor%%.*}
	case $version in
	debian) echo 32 ;;
	*) [ "${minor%%[!0-9]*}" -ge 23 ] && echo 128 || echo 32 ;;
	esac
}

# ---- results ----

# count STATUS: counts one more check as passed if STATUS is 0, or else as failed
count() {
	if [ "$1" -eq 0 ]; then passed=$((passed + 1)); else failed=$((failed + 1)); fi
}

# try TIMES CHECK ARGUMENT…: makes up to TIMES attempts at one check, which passes if one attempt
# does; stops the target that the check has started
try() {
	local times=$1 status=1 from took
	shift
	for _ in $(seq "$times"); do
		rm -rf "$work"
		mkdir -p "$work"
		from=$EPOCHREALTIME
		"$@" >"$work.result" 2>&1
		status=$?
		[ -z "$pid" ] || stop
		took=$(awk -v from="$from" -v to="$EPOCHREALTIME" \
			'BEGIN { printf "%.1f", to - from }')
		printf '  go%-8s %-32s %5s s  %s\n' "$version" "$*" "$took" "$(cat "$work.result")"
		[ $status -eq 0 ] && break
	done
	count $status
}

# report TITLE: prints the last line; fails unless all checks have passed
report() {
	echo "$1: $passed passed, $failed failed"
	[ "$failed" -eq 0 ] && [ "$passed" -gt 0 ]
}

# ---- releases ----

# run_release VERSION: runs in a subshell; build_all may shorten $version to the name of the release
run_release() {
	version=$1 out=$base/$1 work=$scratch/$1
	trap '[ -z "$pid" ] || kill "$pid" 2>/dev/null' EXIT
	mkdir -p "$out"
	if build_all; then
		check_version
	else
		echo "  go$version: cannot be built"
		failed=1
	fi
	echo "$passed $failed" >"$scratch/$1.counts"
}

# each_release PROCESSES TITLE: runs all $versions, each in a process of its own, up to PROCESSES at
# once, and prints the report. A release that leaves no counts has failed.
each_release() {
	local running=0 v
	for v in $versions; do
		if [ "$running" -ge "$1" ]; then
			wait -n
			running=$((running - 1))
		fi
		(run_release "$v" >"$scratch/$v.log" 2>&1; cat "$scratch/$v.log") &
		running=$((running + 1))
	done
	wait
	read -r passed failed < <(cat "$scratch"/*.counts | awk -v n="$(echo "$versions" | wc -w)" '
		{ p += $1; f += $2 }
		END { print p + 0, f + n - NR }')
	report "$2"
}
