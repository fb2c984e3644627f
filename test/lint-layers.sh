#!/bin/sh
# Who may include whom: lint-layers.sh ENTRY_HEADER...
# common/ knows no agent; the agents do not know each other; a folder is entered through
# its entry headers only, and only by folders that come after it in the list.
set -u
git ls-files 'common/*.[ch]' 'node-agent/*.[ch]' 'cluster-agent/*.[ch]' 'bpf/*.[ch]' |
	xargs grep -nE '^#include "' |
	awk -v entries="$*" '
	function top(path) { return substr(path, 1, index(path, "/") - 1) }
	function dir(path) { sub("/[^/]*$", "", path); return path }
	function complain(why) { print $0 ": " why; bad = 1 }
	BEGIN {
		n = split(entries, e, " ")
		for (i = 1; i <= n; i++) {
			entry[e[i]] = 1
			if (!(dir(e[i]) in stage)) stage[dir(e[i])] = i
		}
	}
	{
		split($0, w, ":")
		file = w[1]
		split($0, q, "\"")
		header = q[2]
		from = dir(file)
		to = dir(header)
		if (top(file) == "common" && header ~ /^(node|cluster)-agent\//)
			complain("common knows no agent")
		else if (header ~ /^(node|cluster)-agent\// && top(header) != top(file))
			complain("the agents do not know each other")
		else if (header ~ /^[a-z-]+-agent\/[a-z_]+\// && to != from) {
			if (!(header in entry))
				complain("not an entry header (entries in the Makefile)")
			else if (from != top(file) && !(from in stage))
				complain("the folder " from " has no entry header (entries in the Makefile)")
			else if (from != top(file) && stage[to] > stage[from])
				complain("a folder does not know the ones after it")
		}
	}
	END { exit bad }'
