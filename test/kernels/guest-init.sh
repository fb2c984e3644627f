#!/bin/sh
# shellcheck shell=dash
# First process of the initramfs: runs everything, reports on the serial console, powers off.
# boot-kernel.sh reads the lines that begin with "@".
#
# What is emulated is some fifty times slower, and the host may be busy with other work for minutes.
# So every check polls for a state, nothing is judged by how long it took, and little runs besides
# what is tested.
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

# $bpf_tests comes from the kernel's command line (run-kernels.sh): names of programs without
# "test_", with commas, or "all".
# shellcheck disable=SC2154
bpf_tests_pass()
{
	local t status=0
	for t in /bin/test_*; do
		case ,$bpf_tests, in
		,all, | *,"${t#/bin/test_}",*) "$t" 2>&1 || status=1 ;;
		esac
	done
	return "$status"
}
check "the tests of test/bpf pass" bpf_tests_pass

# ---- the whole agent: busy processes, and a receiver that keeps what is sent ----

version_is_printed() { coroot-node-agent --version | grep '^coroot-node-agent '; }
check "the agent prints its version" version_is_printed

# The agent has 20 minutes, and as many seconds more as the polls themselves take.
soon()
{
	local i=0
	while [ "$i" -lt 600 ]; do
		! "$@" || return 0
		[ -z "$agent" ] || kill -0 "$agent" || return 1
		i=$((i + 1))
		sleep 2
	done
	return 1
}
agent=

# Programs that are always busy would leave the agent little of an emulated processor, and cost the
# host a whole one each. They get a share of it, which the kernel takes care of.
share_of_cpu() { echo "$2" >"/sys/fs/cgroup/$1/cpu.max"; } # quota and period, in microseconds
echo +cpu >/sys/fs/cgroup/cgroup.subtree_control
mkdir /sys/fs/cgroup/load /sys/fs/cgroup/kubepods
share_of_cpu load "25000 100000"

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
	start_container a && start_container b && soon container_runs a && soon container_runs b
}
check "two containers run" both_containers_run
share_of_cpu kubepods "10000 100000" # from here on: runc itself needs more

# Debian's default asks for CAP_SYS_ADMIN (bit 21) to open a perf event, so the agent keeps it. All
# bits: node_privileges.c.
case $(uname -r) in
5.10.*) capabilities=000001c400280006 ;;
*)
	capabilities=000001c400080006
	echo 2 >/proc/sys/kernel/perf_event_paranoid
	;;
esac
# This script, what it starts from here on, and the agent are a container that is excluded, too:
# they are the busiest processes here, and none of them is what the profiles have to show.
own=/sys/fs/cgroup/docker/$(container_id c)
mkdir -p "$own"
echo $$ >"$own/cgroup.procs"

# load COMMAND...: runs it with the others of the cgroup
load() { sh -c 'echo $$ >/sys/fs/cgroup/load/cgroup.procs; exec "$@"' sh "$@" & }
httpd -p 127.0.0.1:8080 -h /www
load share 36000 >/dev/null
share=$!
load chain 36000
chain=$!
load dd if=/dev/zero of=/dev/null bs=1M 2>/dev/null
dd=$!
coroot-node-agent --profiles-endpoint=http://127.0.0.1:8080/cgi-bin/upload --profile-interval=5s \
	--container-denylist='^/(kubepods/b*|docker/c*)$' --wal-dir=/tmp/spool >/tmp/agent.log 2>&1 &
agent=$!

# profiles are gzip streams; names of functions are plain text inside
names_arrive() { zcat /tmp/profile.* 2>/dev/null | grep -q "$1"; }
check "functions of a busy process arrive by name" soon names_arrive spend_seventy
check "functions of the kernel arrive by name" soon names_arrive vfs_read
kill "$share" "$dd" # each has been seen

# of code without frame pointers, by tables made of its .eh_frame
# Profiles from before may be of the first samples of a process.
rm -f /tmp/profile.*
stacks_are_whole() { whole_stacks chain /tmp/profile.*; }
check "stacks of code without frame pointers are whole" soon stacks_are_whole

fetch_metrics() { wget -q -O /tmp/metrics http://127.0.0.1:10300/metrics; }
# metric SERIES: its value, or nothing
metric() { grep -F "$1 " /tmp/metrics | grep -v '^#' | cut -d ' ' -f 2; }
# metric_is VALUE SERIES, now
metric_is() { fetch_metrics && [ "$(metric "$2")" = "$1" ]; }
# metric_is_positive SERIES: its beginning; labels included
metric_is_positive()
{
	fetch_metrics && grep -F "$1" /tmp/metrics | grep -v '^#' | grep -vq ' 0$'
}
check "samples of a container are its own" soon \
	metric_is_positive 'container_ebpf_profiling_samples_total{container_id="/kubepods/aaaaaaaaaaaa"'
check "excluded containers are not sampled" soon \
	metric_is_positive 'coroot_node_agent_samples_excluded_total{by="kernel"}'
check "both are excluded by their cgroups" soon metric_is 2 coroot_node_agent_excluded_cgroups
excluded_is_absent() { ! grep -E 'container_id="/(kubepods/b|docker/c)' /tmp/metrics; }
check "they have no profile" excluded_is_absent
check "no process had to be excluded alone" soon metric_is 0 coroot_node_agent_excluded_processes

# Samples and events that found no room in the ring were taken while the agent had to wait for a
# processor, which is no fault of ours here. So there has to be a time without such a loss.
lost=coroot_node_agent_samples_lost_total
without_room()
{
	metric "$lost{reason=\"ring_full\"}"
	metric coroot_node_agent_process_events_lost_total
}
a_time_without_loss()
{
	local samples lost_before
	fetch_metrics || return 1
	samples=$(metric coroot_node_agent_samples_total)
	lost_before=$(without_room)
	sleep 3
	fetch_metrics && [ "$(metric coroot_node_agent_samples_total)" -gt $((samples + 10)) ] &&
		[ "$(without_room)" = "$lost_before" ]
}
check "the kernel loses neither samples nor events" soon a_time_without_loss
check "every sample has a process" metric_is 0 "$lost{reason=\"no_task\"}"
check "every record is whole" metric_is 0 "$lost{reason=\"bad_record\"}"
kill "$chain"
cat "/sys/fs/cgroup$pod"/*/cgroup.procs | xargs kill -KILL

# all_threads FIELD VALUE: of their status. One that ends meanwhile cannot be read.
all_threads()
{
	cat "/proc/$agent/task"/*/status 2>/dev/null | tr '\t' ' ' | grep "^$1: " >/tmp/status
	grep -qxF "$1: $2" /tmp/status && ! grep -vxF "$1: $2" /tmp/status
}
check "all threads of the agent are under its filter of system calls" all_threads Seccomp 2
check "none can gain privileges" all_threads NoNewPrivs 1
check "all threads of the agent have only the capabilities that it needs" \
	all_threads CapEff "$capabilities"
check "no system call of the agent was refused" \
	metric_is 0 coroot_node_agent_syscalls_refused_total

ends_well() { kill -TERM "$agent" && wait "$agent"; }
check "the agent stops when asked to" ends_well
# What the agent says of a machine that gives it too little time: intervals are dropped, threads are
# late, and so is its end.
late='dropped one interval|the disk of the spool does not answer'
late="$late|cannot upload profiles; retrying.*[Tt]imed? ?out"
late="$late|something does not end|naming the addresses of the last samples takes too long"
late="$late|lost profiles that could not be uploaded before the end"
late="$late|cannot read a process's mappings for now"
agent_log_is_clean()
{
	! grep -E 'level=(error|warn)' /tmp/agent.log | grep -vE "$late"
}
check "the agent logged no warning" agent_log_is_clean
# lockups only mean that the host gave the guest too little time
kernel_log_is_clean()
{
	! dmesg | grep -E 'BUG:|WARNING:|Oops' | grep -vE '(soft|workqueue) lockup'
}
check "the kernel logged no warning" kernel_log_is_clean

echo "--- /metrics"
grep -v '^#' /tmp/metrics
echo "--- log of the agent"
cat /tmp/agent.log
echo "@done"
poweroff -f
