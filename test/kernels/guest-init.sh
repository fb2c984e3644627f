#!/bin/sh
# shellcheck shell=dash
# First process of the initramfs: runs everything, reports on the serial console, powers off.
# boot-kernel.sh reads the lines that begin with "@".
export PATH=/bin HOME=/ TERM=dumb
/bin/busybox --install -s /bin
mount -t proc proc /proc
mount -t sysfs sysfs /sys
mount -t devtmpfs dev /dev
mount -t tmpfs tmpfs /tmp
mount -t cgroup2 cgroup2 /sys/fs/cgroup
ip link set lo up
exec >/dev/console 2>&1
echo "@kernel $(uname -r)"

# check SENTENCE COMMAND...
check()
{
	local what=$1
	shift
	if "$@"; then
		echo "@pass $what"
	else
		echo "@fail $what"
	fi
}

bpf_tests_pass()
{
	local t status=0
	for t in /bin/test_*; do
		"$t" 2>&1 || status=1
	done
	return "$status"
}
check "the tests of test/bpf pass" bpf_tests_pass

# ---- the whole agent: busy processes, and a receiver that keeps what is sent ----

version_is_printed() { coroot-node-agent --version | grep '^coroot-node-agent '; }
check "the agent prints its version" version_is_printed

# What is busy lets everything else run first: an emulated processor has no time to spare for the
# agent's start. Groups of sessions would have equal shares instead.
[ ! -e /proc/sys/kernel/sched_autogroup_enabled ] || echo 0 >/proc/sys/kernel/sched_autogroup_enabled

# Containers of a pod, each with a busy shell: by runc where it is there, else by hand, as on 5.10,
# where runc cannot copy itself in an initramfs. Their cgroups are those of a kubelet without
# systemd.
pod=/kubepods/besteffort/pod11111111-2222-3333-4444-555555555555
can_run_runc() { command -v runc >/dev/null && [ "$(uname -r | cut -d . -f 1)" -ge 6 ]; }
container_id() { printf "$1%.0s" $(seq 64); }
busy_loop='while :; do :; done'
start_container()
{
	local id
	id=$(container_id "$1")
	if can_run_runc; then
		mkdir -p "/tmp/$1/rootfs/bin"
		cp /bin/busybox "/tmp/$1/rootfs/bin/sh"
		(cd "/tmp/$1" && runc spec &&
			sed -i -e 's/"terminal": true/"terminal": false/' \
				-e "s|^\t*\"sh\"\$|\"/bin/sh\", \"-c\", \"$busy_loop\"|" \
				-e "s|\"linux\": {|&\"cgroupsPath\": \"$pod/$id\",|" config.json &&
			runc --root /tmp/runc run --no-pivot --detach "$id" </dev/null)
	else
		mkdir -p "/sys/fs/cgroup$pod/$id"
		sh -c "echo \$\$ >/sys/fs/cgroup$pod/$id/cgroup.procs && $busy_loop" &
	fi
}
container_runs() { grep -q . "/sys/fs/cgroup$pod/$(container_id "$1")/cgroup.procs"; }
both_containers_run()
{
	local i=0
	start_container a && start_container b
	until container_runs a && container_runs b; do
		i=$((i + 1))
		[ "$i" -lt 60 ] || return 1
		sleep 1
	done
	cat "/sys/fs/cgroup$pod"/*/cgroup.procs | xargs renice -n 19 -p
}
check "two containers run" both_containers_run

# Debian's default asks for CAP_SYS_ADMIN (bit 21) to open a perf event, so the agent keeps it. All
# bits: node_privileges.c.
case $(uname -r) in
5.10.*) capabilities=000001c400280006 ;;
*)
	capabilities=000001c400080006
	echo 2 >/proc/sys/kernel/perf_event_paranoid
	;;
esac
httpd -p 127.0.0.1:8080 -h /www
share 600 >/dev/null &
share=$!
chain 600 &
chain=$!
dd if=/dev/zero of=/dev/null bs=1M 2>/dev/null &
dd=$!
renice -n 19 -p "$share" "$chain" "$dd"
coroot-node-agent --profiles-endpoint=http://127.0.0.1:8080/cgi-bin/upload --profile-interval=3s \
	--container-denylist='^/kubepods/b*$' --wal-dir=/tmp/spool >/tmp/agent.log 2>&1 &
agent=$!

# profiles are gzip streams; names of functions are plain text inside
names_arrive() { zcat /tmp/profile.* 2>/dev/null | grep -q "$1"; }
soon()
{
	local i=0
	while [ "$i" -lt 180 ]; do
		! "$@" || return 0
		kill -0 "$agent" || return 1
		i=$((i + 1))
		sleep 1
	done
	return 1
}
check "functions of a busy process arrive by name" soon names_arrive spend_seventy
check "functions of the kernel arrive by name" soon names_arrive vfs_read
kill "$share" "$dd" # each has been seen

# of code without frame pointers, by tables made of its .eh_frame
# Profiles from before may be of the first samples of a process.
rm -f /tmp/profile.*
stacks_are_whole() { whole_stacks chain /tmp/profile.*; }
check "stacks of code without frame pointers are whole" soon stacks_are_whole
kill "$chain"

# metric_is_positive SERIES: its beginning; labels included
metric_is_positive()
{
	wget -q -O /tmp/metrics http://127.0.0.1:10300/metrics
	grep -F "$1" /tmp/metrics | grep -v '^#' | grep -vq ' 0$'
}
check "samples of a container are its own" soon \
	metric_is_positive 'container_ebpf_profiling_samples_total{container_id="/kubepods/aaaaaaaaaaaa"'
check "an excluded container is not sampled" soon \
	metric_is_positive 'coroot_node_agent_samples_excluded_total{by="kernel"}'
check "it is excluded by its cgroup" metric_is_positive coroot_node_agent_excluded_cgroups
excluded_is_absent() { ! grep -F 'container_id="/kubepods/b' /tmp/metrics; }
check "it has no profile" excluded_is_absent
no_process_is_excluded() { ! metric_is_positive coroot_node_agent_excluded_processes; }
check "no process had to be excluded alone" no_process_is_excluded
cat "/sys/fs/cgroup$pod"/*/cgroup.procs | xargs kill -KILL

# all_threads LINE: of their status
all_threads()
{
	local status
	for status in /proc/"$agent"/task/*/status; do
		tr '\t' ' ' <"$status" | grep -q "^$1\$" || return 1
	done
}
check "all threads of the agent are under its filter of system calls" all_threads 'Seccomp: 2'
check "none can gain privileges" all_threads 'NoNewPrivs: 1'
no_system_call_is_refused() { grep -q '^coroot_node_agent_syscalls_refused_total 0$' /tmp/metrics; }
check "no system call of the agent was refused" no_system_call_is_refused
check "all threads of the agent have only the capabilities that it needs" \
	all_threads "CapEff: $capabilities"
wget -q -O /tmp/metrics http://127.0.0.1:10300/metrics

# metric SERIES: its value, or nothing
metric() { grep -F "$1 " /tmp/metrics | grep -v '^#' | cut -d ' ' -f 2; }
samples_are_counted() { [ "$(metric coroot_node_agent_samples_total)" -gt 50 ]; }
check "samples are counted" samples_are_counted
# Checks only the losses in the kernel: an emulated machine may be too slow for an interval.
no_sample_is_lost()
{
	local reason lost=coroot_node_agent_samples_lost_total
	for reason in ring_full no_task bad_record; do
		[ "$(metric "$lost{reason=\"$reason\"}")" = 0 ] || return 1
	done
}
check "the kernel lost no sample" no_sample_is_lost
no_event_is_lost() { [ "$(metric coroot_node_agent_process_events_lost_total)" = 0 ]; }
check "the kernel lost no exec or exit" no_event_is_lost

ends_well() { kill -TERM "$agent" && wait "$agent"; }
check "the agent stops when asked to" ends_well
# a guest that gets too little time drops intervals, and its threads are late; that of arm64 is so
# slow that the agent may be at its end
late='dropped one interval|the disk of the spool does not answer'
late="$late|cannot upload profiles; retrying.*[Tt]imed? ?out"
[ "$(uname -m)" != aarch64 ] || late="$late|something does not end"
agent_log_is_clean()
{
	! grep -E 'level=(error|warn)' /tmp/agent.log | grep -vE "$late"
}
check "the agent logged no warning" agent_log_is_clean
# soft lockups only mean that the host gave the guest too little time
kernel_log_is_clean() { ! dmesg | grep -E 'BUG:|WARNING:|Oops' | grep -v 'soft lockup'; }
check "the kernel logged no warning" kernel_log_is_clean

echo "--- /metrics"
grep -v '^#' /tmp/metrics
echo "--- log of the agent"
cat /tmp/agent.log
echo "@done"
poweroff -f
