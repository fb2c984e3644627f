#!/bin/bash
# "make test" and "make test-quick": every check of the repository as stages, each of them a make
# target: run-all.sh [quick]
#
# The stages are a graph (at the end of this file): each begins when those that it needs have
# passed and there is room for it. There are four kinds of stages:
#
#   agent   a node-agent and workloads against the clock, which wait more than they work: one at
#           once, because an agent sees all processes of the machine and two would profile each
#           other's; at normal priority
#   clock   the same without a node-agent: one at once, beside one of the others
#   wait    takes its time, however much room there is: begins at once, niced a little
#   cpu     work for all processors: two at once, so that one fills the gaps of the other; niced,
#           because nothing in them depends on how fast it runs
#
# Every stage prints what it counted in the form "N passed, N failed[, N skipped]", or as Node's
# test runner does ("# pass N" …); a stage that counts nothing is one test. A stage that is late
# is killed with its stacks shown, and has failed (limit.sh). Whole output:
# build/test/<stage>.log. The summary has the time and the CPU time of each stage, the ten slowest
# tests, the skips, and as its last line "N passed, N failed, N skipped".
#
# With CI set in the environment, a skip fails the run. And a stage that has failed runs once more,
# alone, when all others have ended: what fails only beside others on a busy machine is shown, with
# its first log kept in build/test/<stage>.log.first, and does not hold up everything else. Not if
# more than five have failed, or if the run would then take longer than 75 minutes.
set -u
cd "$(dirname "$0")/.." || exit 1
unset MAKEFLAGS MAKELEVEL MFLAGS
what=${1:-all}
out=${TEST_OUT:-build/test}
rm -rf "$out"
mkdir -p "$out"
jobs=$(nproc)
MAKE=${MAKE:-make}
started=$(date +%s)

# What was compiled before, by this checkout or another, is not compiled again. Debian's links of
# that name call ccache in place of every compiler; the folder may not be there before "deps".
export CCACHE_DIR=${CCACHE_DIR:-${DEPS:?}/ccache} CCACHE_BASEDIR=$PWD CCACHE_NOHASHDIR=1 CCACHE_MAXSIZE=${CCACHE_MAXSIZE:-2G}
export PATH=/usr/lib/ccache:$PATH

# ---- one stage ----

# what a log counted, as "passed failed skipped"; empty when it counted nothing
counts_of()
{
	sed 's/\x1b\[[0-9;]*m//g' "$1" | awk '
		match($0, /[0-9]+ passed, [0-9]+ failed/) {
			split(substr($0, RSTART), w, /[ ,]+/)
			p += w[1]; f += w[3]; n++
			if (match($0, /[0-9]+ skipped/)) s += substr($0, RSTART) + 0
		}
		/^(#|ℹ) (pass|fail|cancelled|skipped|todo) [0-9]+$/ {
			n++
			if ($2 == "pass") p += $3; else if ($2 == "fail" || $2 == "cancelled") f += $3; else s += $3
		}
		END { if (n) print p + 0, f + 0, s + 0 }'
}

# run NAME COMMAND...: leaves NAME.log, NAME.result (passed failed skipped) and NAME.times
# (seconds, CPU seconds)
run()
{
	local name=$1 nice from=$EPOCHREALTIME status c p f s wall cpu TIMEFORMAT='%U %S'
	shift
	case ${kind[$name]} in
	agent | clock) nice=0 ;;
	wait) nice=5 ;;
	cpu) nice=10 ;;
	esac
	{
		time nice -n "$nice" test/limit.sh "${limit[$name]}" "$@" >"$out/$name.log" 2>&1 </dev/null
		echo $? >"$out/$name.status"
	} 2>"$out/$name.cpu"
	read -r status <"$out/$name.status"
	rm "$out/$name.status"
	read -r wall cpu < <(awk -v from="$from" -v to="$EPOCHREALTIME" 'END { printf "%.1f %.1f\n", to - from, $1 + $2 }' "$out/$name.cpu")
	rm "$out/$name.cpu"
	c=$(counts_of "$out/$name.log")
	read -r p f s <<<"${c:-$((status == 0)) $((status != 0)) 0}"
	# failing without having counted a failure (a crash, a file that does not build) is one
	[ "$status" -eq 0 ] || [ "$f" -gt 0 ] || f=1
	echo "$wall $cpu" >"$out/$name.times"
	echo "$p $f $s" >"$out/$name.result"
	{
		printf '%-5s %-21s %6.1f s %6.1f s CPU   %4d passed' "$([ "$f" -eq 0 ] && echo ok || echo FAIL)" "$name" "$wall" "$cpu" "$p"
		[ "$f" -eq 0 ] || printf ', %d failed' "$f"
		[ "$s" -eq 0 ] || printf ', %d skipped' "$s"
		echo
		if [ "$f" -gt 0 ]; then
			echo "---- the end of $out/$name.log"
			tail -n 60 "$out/$name.log"
			echo "----"
		fi
	} >"$out/$name.said"
	flock "$out" cat "$out/$name.said"
	rm "$out/$name.said"
	[ "$f" -eq 0 ]
}

# ---- the graph ----

declare -A kind=() needs=() limit=() command=() stage_of=() passed=()
declare -A room=([agent]=1 [clock]=1 [wait]=100 [cpu]=2) # of each kind at once
stages=() pending=() again=() running=0

# stage NAME KIND MINUTES "NEEDS" [COMMAND]: earlier ones begin first when several could. It needs
# that others have passed, or, with a ~ before the name, only ended. The default command is the
# make target.
stage()
{
	stages+=("$1")
	kind[$1]=$2 limit[$1]=$(($3 * 60)) needs[$1]=$4 command[$1]=${5:-$1}
}

# take NAME N: N of its kind run more
take()
{
	running=$((running + $2))
	room[${kind[$1]}]=$((room[${kind[$1]}] - $2))
}

# verdict NAME: 0 if all that it needs have passed, 1 if it must wait, 2 if one has failed
verdict()
{
	local need result=0
	for need in ${needs[$1]}; do
		case $need-${passed[${need#\~}]:-} in
		*-yes | \~*-no) ;;
		*-no) return 2 ;;
		*) result=1 ;;
		esac
	done
	return $result
}

# not_run NAME: what it needs has failed
not_run()
{
	passed[$1]=no
	echo "0 1 0" >"$out/$1.result"
	printf 'FAIL  %-21s not run, because %s has failed\n' "$1" "${needs[$1]}"
}

# Starts what can be started; what cannot stays in "pending".
start_some()
{
	local name left=()
	for name in "${pending[@]}"; do
		verdict "$name"
		case $? in
		0)
			if [ "${room[${kind[$name]}]}" -gt 0 ]; then
				# shellcheck disable=SC2086 # a target and its variables
				run "$name" "$MAKE" -j"$jobs" JOBS="$jobs" ${command[$name]} &
				stage_of[$!]=$name
				take "$name" 1
			else
				left+=("$name")
			fi
			;;
		1) left+=("$name") ;;
		2) not_run "$name" ;;
		esac
	done
	pending=("${left[@]}")
}

run_stages()
{
	pending=("${stages[@]}")
	run_pending
	[ -z "${CI:-}" ] || run_again
}

run_pending()
{
	local ended before result
	while [ ${#pending[@]} -gt 0 ] || [ "$running" -gt 0 ]; do
		before=${#pending[@]}
		start_some
		# a stage that cannot run may be needed by others
		[ "$running" -gt 0 ] || [ ${#pending[@]} -lt "$before" ] || break
		[ "$running" -gt 0 ] || continue
		result=no
		! wait -n -p ended || result=yes
		passed[${stage_of[$ended]}]=$result
		take "${stage_of[$ended]}" -1
	done
}

failed_stages()
{
	local name
	for name in "${stages[@]}"; do
		[ "${passed[$name]}" = yes ] || [ ! -e "$out/$name.log" ] || echo "$name"
	done
}

# whole_seconds NAME...: how long these took
whole_seconds()
{
	local name
	for name; do cat "$out/$name.times"; done | awk '{ n += $1 } END { printf "%d\n", n }'
}

# Runs what has failed once more, and then what could not run because of it.
run_again()
{
	local name failed
	mapfile -t failed < <(failed_stages)
	[ ${#failed[@]} -gt 0 ] && [ ${#failed[@]} -le 5 ] || return
	[ $(($(date +%s) - started + $(whole_seconds "${failed[@]}"))) -lt 4500 ] || return
	again=("${failed[@]}")
	for name in "${failed[@]}"; do
		echo "again: $name"
		mv "$out/$name.log" "$out/$name.log.first"
		passed[$name]=no
		# shellcheck disable=SC2086 # a target and its variables
		! run "$name" "$MAKE" -j"$jobs" JOBS="$jobs" ${command[$name]} || passed[$name]=yes
	done
	mapfile -t pending < <(for name in "${stages[@]}"; do [ -e "$out/$name.log" ] || echo "$name"; done)
	for name in "${pending[@]}"; do
		unset "passed[$name]"
	done
	run_pending
}

# ---- the summary ----

# "seconds stage test" of every unit test binary, Node test and cell of the Go matrix
all_times()
{
	local name
	for name in "${stages[@]}"; do
		[ ! -e "$out/$name.log" ] || sed 's/\x1b\[[0-9;]*m//g' "$out/$name.log" | awk -v stage="$name" '
			/^ +(ok|FAIL|go[0-9d][^ ]*) / && match($0, / +[0-9.]+ s( |$)/) {
				time = substr($0, RSTART, RLENGTH) + 0
				$0 = substr($0, 1, RSTART - 1); sub(/^ +(ok|FAIL)? */, ""); gsub(/  +/, " ")
				print time, stage, $0
			}
			/^ *(✔|✖) / && match($0, / \([0-9.]+ms\)$/) {
				time = substr($0, RSTART + 2) / 1000
				$0 = substr($0, 1, RSTART - 1); sub(/^ *[^ ]+ /, "")
				print time, stage, $0
			}'
	done
}

finish()
{
	local skips name
	all_times >"$out/times"
	echo "the slowest tests:"
	sort -rn "$out/times" | head -n 10 | awk '{ printf "  %6.1f s  %-16s ", $1, $2; $1 = $2 = ""; sub(/^ +/, ""); print }'
	for name in "${again[@]}"; do
		if [ "${passed[$name]}" = yes ]; then
			echo "$name has passed only when it ran again; it failed with $out/$name.log.first"
		fi
	done
	grep -hs '^again: ' "$out"/*.log
	skips=$(grep -hE '^ *(skip|SKIP)\b|# (SKIP|TODO)\b|﹣ .*# ' "$out"/*.log 2>/dev/null)
	[ -z "$skips" ] || printf 'skipped:\n%s\n' "$skips"
	echo "make test took $(($(date +%s) - started)) s, and $(cat "$out"/*.times | awk '{ n += $2 } END { printf "%d", n }') s of CPU time"
	awk -v ci="${CI:-}" '{ p += $1; f += $2; s += $3 }
		END { printf "%d passed, %d failed, %d skipped\n", p, f, s; exit f > 0 || p == 0 || (ci != "" && s > 0) }' \
		"$out"/*.result
	exit $?
}
# every stage's limit.sh ends what it has started
trap 'trap "" INT TERM; kill -TERM 0; wait; exit 130' INT TERM

# ---- the stages ----

stage deps clock 30 ""
stage build clock 30 deps test-programs
if [ "$what" = quick ]; then
	stage check-asan cpu 20 build
	stage check-fuzz cpu 20 "build ~check-asan"
	stage lint-quick cpu 20 build
	stage check-store clock 20 build
	run_stages
	finish
fi

# Those with a node-agent are the longest way, so they begin first. The agents of check-e2e read
# every Go process of the machine, and some of its tests count what could not be read: it runs
# without the programs of the Go matrix beside it. Both parts of check-kubernetes remove clusters
# that they find.
stage check-go-matrix wait 60 build "check-go-matrix FEW=1"
stage check-bpf agent 30 build
stage check-soak agent 30 build "check-soak SOAK_FILES=node"
stage check-java agent 30 build "check-java RELEASES=17,25 MODES=tiered,interpreted"
stage check-containers agent 30 build
stage check-push wait 30 build
stage check-kubernetes-api clock 60 "build kubernetes-build images"
stage check-soak-server clock 30 build "check-soak SOAK_FILES=server"
stage check-e2e-server clock 45 build "check-e2e E2E=server"
stage check-uploads clock 30 build
stage check-sql-clients clock 30 build
stage otlp-collector wait 60 deps
stage check-e2e agent 70 "build ~otlp-collector ~check-go-matrix" "check-e2e E2E=node"
stage check-kubernetes-node agent 60 "build kubernetes-build images ~check-kubernetes-api"
stage images cpu 20 build "IMAGE_TAG=test images"
stage kubernetes-build cpu 60 build
stage check-charts cpu 30 kubernetes-build
stage check-asan cpu 45 build
stage check-fuzz cpu 20 "build ~check-asan"
stage check-judge wait 5 deps
stage check-runner wait 20 "build ~check-asan" "BUILD=asan check-runner"
stage check-tsan cpu 45 build
stage check-kernels cpu 45 build
stage check-go-arm64 cpu 45 build "check-go-arm64 FEW=1"
stage lint cpu 45 build
stage check-store cpu 30 build
stage check-go-symbols cpu 30 build "check-go-symbols FEW=1"
stage build-clang cpu 30 build "O=build/clang CC=clang all"
stage check-page cpu 45 build
stage check-images cpu 30 "images ~check-kernels"
run_stages
finish
