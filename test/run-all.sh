#!/bin/bash
# "make test": every check of the repository as stages, each of them a make target.
# Prints time and counts per stage, the skips, and as its last line "N passed, N failed, N skipped".
#
# Every stage prints what it counted in the form "N passed, N failed[, N skipped]", or as Node's
# test runner does ("# pass N" …); a stage that counts nothing is one test. Whole output:
# build/test/<stage>.log. With CI set in the environment, a skip fails the run.
set -u
cd "$(dirname "$0")/.." || exit 1
unset MAKEFLAGS MAKELEVEL MFLAGS
out=build/test
rm -rf "$out"
mkdir -p "$out"
jobs=$(nproc)
MAKE=${MAKE:-make}
started=$(date +%s)

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

# stage NAME COMMAND...: runs it, leaves name.log and name.result
stage()
{
	local name=$1 from to status c p f s
	shift
	from=$(date +%s%N)
	"$@" >"$out/$name.log" 2>&1 </dev/null
	status=$?
	to=$(date +%s%N)
	c=$(counts_of "$out/$name.log")
	read -r p f s <<<"${c:-$((status == 0)) $((status != 0)) 0}"
	# failing without having counted a failure (a crash, a file that does not build) is one
	[ "$status" -eq 0 ] || [ "$f" -gt 0 ] || f=1
	echo "$p $f $s" >"$out/$name.result"
	printf '%-5s %-18s %4d.%d s   %4d passed' "$([ "$f" -eq 0 ] && echo ok || echo FAIL)" "$name" \
		$(((to - from) / 1000000000)) $(((to - from) / 100000000 % 10)) "$p"
	[ "$f" -eq 0 ] || printf ', %d failed' "$f"
	[ "$s" -eq 0 ] || printf ', %d skipped' "$s"
	echo
	if [ "$f" -gt 0 ]; then
		echo "---- the end of $out/$name.log"
		tail -n 60 "$out/$name.log"
		echo "----"
	fi
}
target()
{
	stage "$1" "$MAKE" -j"$jobs" "$1"
}
failed()
{
	cat "$out"/*.result | awk '{ n += $2 } END { exit !n }'
}

finish()
{
	local skips
	skips=$(grep -hE '^ *(skip|SKIP)\b|# (SKIP|TODO)\b|﹣ .*# ' "$out"/*.log 2>/dev/null)
	[ -z "$skips" ] || printf 'skipped:\n%s\n' "$skips"
	echo "make test took $(($(date +%s) - started)) s"
	awk -v ci="${CI:-}" '{ p += $1; f += $2; s += $3 }
		END { printf "%d passed, %d failed, %d skipped\n", p, f, s; exit f > 0 || p == 0 || (ci != "" && s > 0) }' \
		"$out"/*.result
	exit $?
}
trap 'trap - INT TERM; kill 0; exit 130' INT TERM

# without these, nothing below can say anything
target deps
failed && finish
stage build "$MAKE" -j"$jobs" all
failed && finish

# work for two cores side by side; nothing here depends on how fast it runs. Kubernetes takes
# minutes on a machine that has none yet, and is wanted last.
stage kubernetes-build nice -n 19 "$MAKE" kubernetes-build &
kubernetes_build=$!
(
	stage build-clang "$MAKE" O=build/clang CC=clang all
	stage check-asan "$MAKE" check-asan
	stage check-fuzz "$MAKE" check-fuzz
) &
checks=$!
(
	stage lint "$MAKE" lint JOBS=1
	target check-page
	target check-go-symbols
	target check-go-matrix
	target check-go-arm64
) &
wait "$checks" $!
target check-tsan
wait "$kubernetes_build"

# alone, because they run real daemons against the clock
target check-bpf
target check-kernels
target check-store
target check-pipeline
target check-e2e
target check-kubernetes
finish
