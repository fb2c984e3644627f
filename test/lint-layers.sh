#!/bin/sh
# Who may include whom: lint-layers.sh LAYERS
#
# LAYERS lists the folders from the ground up, each with its entry headers: the only ones that other
# folders may include. A folder may include entry headers of folders above it in the list. common/
# knows no agent, and the agents do not know each other. The files directly in an agent's folder
# wire everything together and may include every entry header of that agent.
set -u
layers=$1
git ls-files 'common/*.[ch]' 'node-agent/*.[ch]' 'cluster-agent/*.[ch]' 'bpf/*.[ch]' |
	xargs grep -nE '^#include "' |
	awk '
	function top(path) { return substr(path, 1, index(path, "/") - 1) }
	function dir(path) { sub("/[^/]*$", "", path); return path }
	function complain(why) { print $0 ": " why; bad = 1 }
	FNR == NR {
		if ($0 ~ /^#/ || NF == 0) next
		split($0, w, ":")
		folder = w[1]
		n = split(w[2], h, " ")
		level[folder] = ++levels
		for (i = 1; i <= n; i++) entry[folder "/" h[i]] = 1
		next
	}
	{
		split($0, w, ":")
		file = w[1]
		split($0, q, "\"")
		header = q[2]
		from = dir(file)
		to = dir(header)
		if (header !~ /^(common|node-agent|cluster-agent)\// || to == from)
			next
		if (top(file) == "common" && top(header) != "common")
			complain("common knows no agent")
		else if (top(header) != "common" && top(header) != top(file))
			complain("the agents do not know each other")
		else if (to ~ /^(node|cluster)-agent$/)
			complain("only wiring may include what lies directly in an agent")
		else if (!(header in entry))
			complain("not an entry header of its folder (test/layers.txt)")
		else if (from ~ /^(node|cluster)-agent$/ || top(file) != top(header))
			next
		else if (!(from in level))
			complain("the folder " from " is missing in test/layers.txt")
		else if (level[to] > level[from])
			complain(from " is below " to " in test/layers.txt")
	}
	END { exit bad }' "$layers" -
