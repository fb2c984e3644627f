#!/bin/bash
# python-frames.sh CHECK: programs of every CPython that can be had stop in a known chain of calls,
# which the agent must read from their memory as they say it themselves: each function, file and
# line. PYTHONS="3.9 sid" chooses those whose names contain one of these. Needs root.
set -u
check=$1
here=$(cd "$(dirname "$0")" && pwd)
work=$(mktemp -d)
pid=
passed=0 failed=0
trap 'stop; rm -rf "$work"' EXIT

stop() {
	[ -n "$pid" ] && kill -9 "$pid" 2>/dev/null && wait "$pid" 2>/dev/null
	pid=
}

# start ROOT PYTHON MODE: waits until it has said its chain and is in the call behind it
start() {
	local python=("$2")
	cp "$here/known_chain.py" "$1/tmp/known_chain-$$.py" || return
	if [[ $2 != /* ]]; then
		cc -o "$1/tmp/embedded-$$" "$here/embedded.c" || return
		python=("/tmp/embedded-$$" "$2")
	fi
	: >"$work/truth"
	chroot "$1" "${python[@]}" "/tmp/known_chain-$$.py" "$3" >"$work/truth" 2>"$work/err" &
	pid=$!
	for _ in $(seq 3000); do
		grep -q '^--$' "$work/truth" && return
		kill -0 "$pid" 2>/dev/null || break
		sleep 0.1
	done
	tail -3 "$work/err"
	return 1
}

# Whether one of the threads has the chain, which is all that the program has printed.
same() {
	"$check" "$pid" >"$work/ours" 2>>"$work/err" && awk '
		FNR == NR { truth = truth $0 "\n"; next }
		{ chain = chain $0 "\n" }
		/^--$/ { if (chain == truth) found = 1; chain = "" }
		END { exit !found }' "$work/truth" "$work/ours"
}

# one ROOT PYTHON MODE
one() {
	local status=1
	start "$@" && for _ in $(seq 50); do
		same && status=0 && break
		sleep 0.1
	done
	stop
	rm -f "$1/tmp/known_chain-$$.py" "$1/tmp/embedded-$$"
	[ "$status" -eq 0 ] || diff "$work/truth" "$work/ours" | head -12
	return "$status"
}

while read -r name root python; do
	for mode in computes sleeps computes-thread sleeps-thread; do
		if one "$root" "$python" "$mode"; then
			passed=$((passed + 1))
			echo "  $name, $mode: $(($(wc -l <"$work/truth") - 1)) frames"
		else
			failed=$((failed + 1))
			echo "  $name, $mode: wrong"
		fi
	done
done < <("$here"/../setup/pythons.sh)
echo "frames of Python: $passed passed, $failed failed"
[ "$failed" -eq 0 ] && [ "$passed" -gt 0 ]
