#!/bin/sh
# lint-units.sh: systemd understands every line of the units in charts/systemd/, and rates what they
# leave to the agents, offline: 0 is a service that may do nothing, 100 one without any limit.
set -eu
cd "$(dirname "$0")/.."
dir=$(mktemp -d)
trap 'rm -rf "$dir"' EXIT

# check UNIT MOST: the program need not be installed
check()
{
	sed 's|^ExecStart=[^ ]*|ExecStart=/bin/true|' "charts/systemd/$1" >"$dir/$1"
	systemd-analyze verify --man=no "$dir/$1" >"$dir/log" 2>&1 || echo failed >>"$dir/log"
	[ ! -s "$dir/log" ] || {
		cat "$dir/log"
		echo "charts/systemd/$1: systemd-analyze verify finds mistakes"
		exit 1
	}
	systemd-analyze security --offline=yes --no-pager --threshold="$2" "$dir/$1" >"$dir/log" 2>&1 || {
		cat "$dir/log"
		echo "charts/systemd/$1: more is allowed than systemd's rating of $2 (of 100)"
		exit 1
	}
}
check coroot-cluster-agent.service 14
check coroot-node-agent.service 46
