#!/bin/bash
# python-tasks.sh AGENT: tasks of asyncio in every CPython from 3.14 on that can be had. The agent
# must show what awaits each of them above it in a CPU profile, as the program says it itself, in
# 99.9 % of the samples in which a coroutine computes, or in SHARE of them. PYTHONS as in
# python-frames.sh. Needs root.
set -u
agent=$1
here=$(cd "$(dirname "$0")" && pwd)
work=$(mktemp -d)
failed=0
trap 'rm -rf "$work"' EXIT

# record ROOT PYTHON: into $work/stacks.folded, with what the program has said in $work/truth
record() {
	local program=/tmp/known_tasks-$$.py
	cp "$here/known_tasks.py" "$1$program" || return
	"$agent" record --python-async-callers -F 499 -o "$work/stacks.folded" -- \
		chroot "$1" "$2" "$program" 10 >"$work/out" 2>&1
	rm -f "$1$program"
	sed -n '/^main;/p; /^works;/p; /^(awaited/p' "$work/out" >"$work/truth"
	[ -s "$work/truth" ] || tail -3 "$work/out"
}

# Of each stack in which a coroutine computes, what is between the event loop and its last function.
judge() {
	awk '
		FNR == NR { known[$0]; next }
		{
			n = $NF
			sub(/ [0-9]+$/, "")
			if (!match($0, /;compute( [^;]*)?(;|$)/)) next
			$0 = substr($0, 1, RSTART + 7)
			chain = ""
			parts = split($0, frames, ";")
			for (i = parts; i > 0; i--) {
				function_name = frames[i]
				sub(/ [^ ]*:[0-9]+$/, "", function_name)
				if (function_name ~ /^Handle\._run/) break
				if (function_name !~ /^[A-Za-z_.]+$/ && function_name !~ /^\(/) continue
				if (function_name ~ /^_?Py|^task_step|^gen_send|^_asyncio|^cfunction/) continue
				chain = function_name (chain == "" ? "" : ";" chain)
			}
			all += n
			if (chain in known) right += n
			else wrong[chain] += n
		}
		END {
			share = ENVIRON["SHARE"] ? ENVIRON["SHARE"] : 0.999
			printf "%d of %d samples\n", right, all
			for (chain in wrong) printf "    %d: %s\n", wrong[chain], chain
			exit !(all >= 100 && right >= share * all)
		}' "$work/truth" "$work/stacks.folded"
}

while read -r name root python; do
	# a debug build has native frames between that others have inlined
	[[ $python == /*3.1[4-9]* && $python != *d ]] || continue
	record "$root" "$python"
	if judge >"$work/verdict"; then
		echo "  $name, tasks: $(cat "$work/verdict")"
	else
		failed=$((failed + 1))
		echo "  $name, tasks: wrong"
		head -12 "$work/verdict"
	fi
done < <("$here"/../setup/pythons.sh)
[ "$failed" -eq 0 ]
