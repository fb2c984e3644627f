#!/bin/bash
# cgroups.sh make|remove NAME: the cgroup /NAME of a test in all hierarchies. "remove" ends what is
# in it.
set -eu
name=$2
if [ -e /sys/fs/cgroup/cgroup.controllers ]; then
	trees=(/sys/fs/cgroup)
else
	trees=(/sys/fs/cgroup/*/)
fi
groups=("${trees[@]/%//$name}")

make_groups()
{
	local file
	mkdir -p "${groups[@]}"
	# empty in a new group, which then takes no process
	for file in cpus mems; do
		[ ! -e "/sys/fs/cgroup/cpuset/cpuset.$file" ] ||
			cat "/sys/fs/cgroup/cpuset/cpuset.$file" >"/sys/fs/cgroup/cpuset/$name/cpuset.$file"
	done
	[ ! -e "/sys/fs/cgroup/cpuset/$name/cgroup.clone_children" ] ||
		echo 1 >"/sys/fs/cgroup/cpuset/$name/cgroup.clone_children"
}

remove_groups()
{
	local pids i
	for ((i = 0; i < 600; i++)); do
		pids=$(find "${groups[@]}" -name cgroup.procs -exec cat {} + 2>/dev/null | sort -u) || true
		# shellcheck disable=SC2086 # a list of numbers
		[ -z "$pids" ] || kill -KILL $pids 2>/dev/null || true
		find "${groups[@]}" -depth -type d -exec rmdir {} + 2>/dev/null || true
		[ -n "$(find "${groups[@]}" -maxdepth 0 2>/dev/null)" ] || return 0
		sleep 0.05
	done
	echo "cgroups.sh: /$name cannot be removed" >&2
	return 1
}

case $1 in
make) make_groups ;;
remove) remove_groups ;;
*) exit 2 ;;
esac
