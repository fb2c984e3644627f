#!/bin/bash
# threaded-tests.sh FILE...: of objects and archives, prints the names of the unit tests (without
# "test_", in the order of the objects) from which references between symbols lead to
# pthread_create(). Any other one has a single thread, in which TSan finds nothing.
set -euo pipefail
nm -A -P "$@" | awk '
	{ file = $1; sub(/:$/, "", file) }
	file != last { files[n_files++] = last = file }
	$3 ~ /^[Uwv]$/ { users[$2] = users[$2] " " file; next }
	# nothing is taken from a test
	$3 ~ /^[A-Z]$/ && file !~ /\/test\/unit\// { symbols[file] = symbols[file] " " $2 }
	function reach(symbol,    n, i, all) {
		n = split(users[symbol], all, " ")
		for (i = 1; i <= n; i++)
			if (!reached[all[i]]++)
				queue[n_reached++] = all[i]
	}
	END {
		reach("pthread_create")
		for (i = 0; i < n_reached; i++) {
			n = split(symbols[queue[i]], all, " ")
			for (s = 1; s <= n; s++)
				reach(all[s])
		}
		for (i = 0; i < n_files; i++)
			if (files[i] in reached && match(files[i], /\/test\/unit\/test_.*\.o$/)) {
				name = substr(files[i], RSTART + 16)
				print substr(name, 1, length(name) - 2)
				found = 1
			}
		exit !found
	}'
