#!/bin/bash
# A throw-away Kubernetes for the tests: cluster.sh COMMAND. Needs root.
#
#   up                    etcd and kube-apiserver on 127.0.0.1. No controllers, so whatever is
#                         written stays as it is: pods may name nodes that do not exist.
#                         KN_CONTROLLERS=1 adds kube-controller-manager and kube-scheduler.
#   up-node               a node that runs pods: all of these, containerd, kubelet, kube-proxy and
#                         CoreDNS, in a network namespace of its own
#   up-second             one more node, testnode2, beside that: with a network, mounts and a cgroup of
#                         its own, but on the same kernel, whose processes both nodes see. Its daemons
#                         are called containerd2, kubelet2 and kube-proxy2.
#   down-second           ends it
#   kubectl ARG...        as administrator
#   exec COMMAND...       in the cluster's network namespace; KN_DIR and KUBECONFIG are set,
#                         kubectl is in PATH
#   import FILE           makes an image archive (make-image.sh) known to the node; import2 to the second
#   stop NAME [SIGNAL]    ends one daemon, by SIGTERM or what is given: kube-apiserver, etcd, …
#   start NAME            starts it again and waits until it works
#   signal NAME SIGNAL    STOP makes it hang, CONT go on
#   compact               resource versions of the past expire (410), except what kube-apiserver
#                         still has in memory; prints the newest revision of etcd
#   status                what runs, with its memory
#   down                  ends everything and removes all of it but the logs
#
# A cluster is its folder, $KN_DIR (default: build/kubernetes/clusters/default): everything that
# it has elsewhere, a cgroup and a network namespace, is named after that. So any number can be up
# at the same time, and "up" clears away what a killed run left in the same folder. The other
# settings are for "up" and "up-node", later commands remember them:
#
#   KN_PORT=6443 KN_ETCD_PORT=2379   on 127.0.0.1; in a node's own namespace they are always free
#   KN_APISERVER_FLAGS               more flags of kube-apiserver, split at blanks; "start" takes
#                                    new ones.
#       --watch-cache=false          watches come from etcd, so that "compact" ends those of the
#                                    past with 410
#       --min-request-timeout=1      a watch without timeoutSeconds ends after 1 to 2 s
#       --token-auth-file=F --anonymous-auth=false
#                                    bearer tokens of F; without one 401 instead of 403
#   KN_BIN                           the folder of build.sh's programs
set -euo pipefail
here=$(cd "$(dirname "$0")" && pwd)
root=$(cd "$here/../.." && pwd)
export DEPS=${DEPS:-${XDG_CACHE_HOME:-$HOME/.cache}/coroot-agents}
node=testnode
node_ip=10.199.0.1
# of the node whose daemons are meant: nothing, or 2
n=

die()
{
	echo "cluster.sh: $*" >&2
	exit 1
}

dir=$(realpath -m "${KN_DIR:-$root/build/kubernetes/clusters/default}")
id=kn-$(printf '%s' "$dir" | sha256sum | cut -c1-8)
PATH=$PATH:/usr/local/sbin:/usr/sbin:/sbin

# Where groups of processes are made: one tree on cgroup v2, one per controller on v1. The daemons
# are in only one of those, the pods in all.
if [ -e /sys/fs/cgroup/cgroup.controllers ]; then
	cgroup_trees=(/sys/fs/cgroup)
	daemon_tree=/sys/fs/cgroup
else
	cgroup_trees=(/sys/fs/cgroup/*/)
	cgroup_trees=("${cgroup_trees[@]%/}")
	daemon_tree=/sys/fs/cgroup/unified
	[ -d "$daemon_tree" ] || daemon_tree=/sys/fs/cgroup/pids
fi
daemons=$daemon_tree/$id/daemons

load_settings()
{
	local flags=${KN_APISERVER_FLAGS-unset}
	[ -f "$dir/settings" ] || die "there is no cluster in $dir"
	# shellcheck disable=SC1091 # written by save_settings
	. "$dir/settings"
	[ "$flags" = unset ] || KN_APISERVER_FLAGS=$flags
	PATH=$KN_BIN:$PATH
	server_ip=$ip
	url=https://$ip:$KN_PORT
	etcd_url=http://127.0.0.1:$KN_ETCD_PORT
}

# save_settings KIND: api or node
save_settings()
{
	local kind=$1 ip=127.0.0.1
	[ "$kind" = api ] || ip=$node_ip
	: "${KN_PORT:=6443}" "${KN_ETCD_PORT:=2379}" "${KN_CONTROLLERS:=}" "${KN_APISERVER_FLAGS:=}"
	[ "$kind" = api ] || KN_CONTROLLERS=1
	[ -n "${KN_BIN:-}" ] || KN_BIN=$("$here/build.sh" "$("$root/test/setup/go.sh")")
	[ -x "$KN_BIN/kubenode" ] || die "no kubenode in $KN_BIN"
	declare -p kind ip KN_PORT KN_ETCD_PORT KN_CONTROLLERS KN_APISERVER_FLAGS KN_BIN |
		sed 's/^declare -[-a-z]* //' >"$dir/settings"
}

# ---- processes ---------------------------------------------------------------

pid_of()
{
	cat "$dir/pid/$1" 2>/dev/null
}

# Asks the group, not the process: its number may meanwhile be that of another.
alive()
{
	local pid
	pid=$(pid_of "$1") && grep -qx "$pid" "$daemons/cgroup.procs"
}

# inside COMMAND...: in the network namespace of the cluster
inside()
{
	if [ "$kind" = api ]; then
		"$@"
	else
		alive "namespaces$n" || die "the namespaces of the node are gone"
		nsenter --target "$(pid_of "namespaces$n")" --net -- "$@"
	fi
}

# spawn NAME COMMAND...: as a daemon that outlives this script, its output in log/NAME
spawn()
{
	local name=$1
	shift
	alive "$name" && die "$name runs already"
	(
		echo 0 >"$daemons/cgroup.procs"
		exec setsid -- "$@"
	) >>"$dir/log/$name" 2>&1 </dev/null &
	echo $! >"$dir/pid/$name"
	# once more from here, so that "alive" is true from now on
	echo $! >"$daemons/cgroup.procs" || true
}

# spawn_inside NAME COMMAND...: the same, in the namespaces of the cluster
spawn_inside()
{
	local name=$1
	shift
	[ "$kind" = api ] || set -- nsenter --target "$(pid_of "namespaces$n")" --net --mount --root -- "$@"
	spawn "$name" "$@"
}

# wait_for NAME COMMAND...: until it succeeds; gives up when daemon NAME ends, or after two minutes
wait_for()
{
	local name=$1 end=$((SECONDS + 120))
	shift
	until "$@" >/dev/null 2>&1; do
		if ! alive "$name" || [ "$SECONDS" -ge "$end" ]; then
			echo "cluster.sh: $name does not get ready; the end of $dir/log/$name:" >&2
			tail -n 15 "$dir/log/$name" >&2
			exit 1
		fi
		sleep 0.1
	done
}

signal()
{
	alive "$1" || die "$1 does not run"
	kill -s "$2" "$(pid_of "$1")"
}

stop()
{
	local end=$((SECONDS + 20))
	signal "$1" "${2:-TERM}"
	while alive "$1"; do
		[ "$SECONDS" -lt "$end" ] || signal "$1" KILL
		sleep 0.05
	done
}

# ---- the daemons -------------------------------------------------------------

# get PATH: from the API server, without the cost of starting kubectl
get()
{
	inside curl -sSf -m 5 --cacert "$dir/pki/ca.crt" --cert "$dir/pki/admin.crt" --key "$dir/pki/admin.key" "$url$1"
}

start_etcd()
{
	local peer="http://127.0.0.1:0" # it has none
	spawn_inside etcd kubenode etcd --name=test --data-dir="$dir/etcd" --unsafe-no-fsync --log-level=warn \
		--listen-client-urls="$etcd_url" --advertise-client-urls="$etcd_url" \
		--listen-peer-urls="$peer" --initial-advertise-peer-urls="$peer" --initial-cluster="test=$peer"
	wait_for etcd inside curl -sSf -m 5 "$etcd_url/health"
}

start_kube-apiserver()
{
	local pki=$dir/pki flags=(--bind-address="$ip" --advertise-address="$ip")
	# an address of the loop cannot be an endpoint of the service "kubernetes"
	[ "$kind" = node ] || flags+=(--endpoint-reconciler-type=none)
	# nobody would make the account that it gives every pod
	[ -n "$KN_CONTROLLERS" ] || flags+=(--disable-admission-plugins=ServiceAccount)
	# shellcheck disable=SC2206 # a list of words
	flags+=($KN_APISERVER_FLAGS)
	spawn_inside kube-apiserver kubenode kube-apiserver --secure-port="$KN_PORT" --etcd-servers="$etcd_url" \
		--client-ca-file="$pki/ca.crt" \
		--tls-cert-file="$pki/kube-apiserver.crt" --tls-private-key-file="$pki/kube-apiserver.key" \
		--kubelet-certificate-authority="$pki/ca.crt" \
		--kubelet-client-certificate="$pki/kubelet-client.crt" --kubelet-client-key="$pki/kubelet-client.key" \
		--kubelet-preferred-address-types=InternalIP \
		--service-account-issuer=https://kubernetes.default.svc \
		--service-account-key-file="$pki/service-account.pub" \
		--service-account-signing-key-file="$pki/service-account.key" \
		--service-cluster-ip-range=10.96.0.0/16 --authorization-mode=Node,RBAC \
		--enable-admission-plugins=NodeRestriction --allow-privileged=true --profiling=false "${flags[@]}"
	wait_for kube-apiserver get /readyz
	# what makes it runs beside
	wait_for kube-apiserver get /api/v1/namespaces/default
}

# Neither serves: in the machine's own namespace, several clusters would want the same port.
start_kube-controller-manager()
{
	spawn_inside kube-controller-manager kubenode kube-controller-manager \
		--kubeconfig="$dir/kubeconfig/kube-controller-manager" --leader-elect=false --secure-port=0 \
		--use-service-account-credentials=true --profiling=false \
		--root-ca-file="$dir/pki/ca.crt" --service-account-private-key-file="$dir/pki/service-account.key" \
		--cluster-signing-cert-file="$dir/pki/ca.crt" --cluster-signing-key-file="$dir/pki/ca.key"
	wait_for kube-controller-manager get /api/v1/namespaces/default/serviceaccounts/default
}

start_kube-scheduler()
{
	spawn_inside kube-scheduler kubenode kube-scheduler --kubeconfig="$dir/kubeconfig/kube-scheduler" \
		--leader-elect=false --secure-port=0 --profiling=false
}

start_containerd()
{
	spawn_inside "containerd$n" containerd --config "$dir/node$n/containerd.toml"
	wait_for "containerd$n" ctr --address "$dir/node$n/run/containerd.sock" version
}

node_is_ready()
{
	get "/api/v1/nodes/$node" | jq -e '.status.conditions[] | select(.type == "Ready" and .status == "True")'
}

start_kubelet()
{
	spawn_inside "kubelet$n" kubenode kubelet --config="$dir/node$n/kubelet.yaml" \
		--kubeconfig="$dir/kubeconfig/kubelet$n" \
		--root-dir="$dir/node$n/kubelet" --cert-dir="$dir/node$n/kubelet/pki" \
		--hostname-override="$node" --node-ip="$ip"
	wait_for "kubelet$n" node_is_ready
}

start_kube-proxy()
{
	spawn_inside "kube-proxy$n" kubenode kube-proxy --config="$dir/node$n/kube-proxy.yaml"
	wait_for "kube-proxy$n" inside curl -sSf -m 5 "http://127.0.0.1:10249/healthz"
}

# Resolves services for pods. It may read what the controllers may read.
start_coredns()
{
	spawn_inside coredns kubenode coredns "$dir/node/Corefile"
	wait_for coredns inside curl -sSf -m 5 http://127.0.0.1:8181/ready
}

# of_second: what follows is about the second node
of_second()
{
	n=2
	node=testnode2
	ip=10.199.0.2
}

start()
{
	case $1 in
	*2)
		of_second
		set -- "${1%2}"
		;;
	esac
	[ "$(type -t "start_$1")" = function ] || die "no daemon is called $1"
	"start_$1"
}

compact()
{
	# grpc also warns of what is well
	inside kubenode compact "$etcd_url" 2>"$dir/log/compact" || { cat "$dir/log/compact" >&2; exit 1; }
}

# ---- up and down ---------------------------------------------------------------

# All pods together would have the share of one process of the machine, which starves them if that is
# busy. They get that of eight: the agents and the cluster beside them need some, too.
make_cgroups()
{
	local tree
	mkdir -p "$daemons"
	if [ "$daemon_tree" = /sys/fs/cgroup ]; then
		for tree in "$daemon_tree" "$daemon_tree/$id"; do
			sed 's/\([a-z]\+\)/+\1/g' "$tree/cgroup.controllers" >"$tree/cgroup.subtree_control"
		done
		[ ! -e "$daemon_tree/$id/cpu.weight" ] || echo 800 >"$daemon_tree/$id/cpu.weight"
		return
	fi
	make_v1_groups "$id"
	for tree in "${cgroup_trees[@]}"; do
		[ ! -e "$tree/$id/cpu.shares" ] || echo 8192 >"$tree/$id/cpu.shares"
	done
}

# make_v1_groups PATH
make_v1_groups()
{
	local file
	mkdir -p "${cgroup_trees[@]/%//$1}"
	# empty in a new group, which then takes no process
	for file in cpus mems; do
		[ ! -e "/sys/fs/cgroup/cpuset/cpuset.$file" ] ||
			cat "/sys/fs/cgroup/cpuset/cpuset.$file" >"/sys/fs/cgroup/cpuset/$1/cpuset.$file"
	done
}

# A process that holds the namespaces of a node; with the last process in them all is gone that was
# set up and mounted there.
#
# Network: one link that is up, with the address and a default route, by which kube-apiserver and
# kubelet find out what address they have.
# Mounts: the folders that these programs know by heart (made if the machine has none, and all that
# stays) are empty, and the machine's settings that a
# kubelet insists on changing (to reboot by itself after a panic, among others) are plain files.
#
# A second node has a link to the first, which both use for each other's pods as well.
hold_namespaces()
{
	mkdir -p "$dir/node$n" /var/lib/cni /var/lib/kubelet /var/log/containers
	# shellcheck disable=SC2016 # expanded inside
	spawn "namespaces$n" unshare --net --mount --propagation slave sh -ec '
		ip link set lo up
		if [ -z "$2" ]; then
			ip link add node0 type veth peer name node1
			ip link set node1 up
			ip addr add "$0/24" dev node0
			ip link set node0 up
			ip route add default dev node0
		fi
		mount --make-rshared /
		for folder in /run /var/lib/cni /var/lib/kubelet /var/log/containers; do
			mount -t tmpfs kubernetes "$folder"
		done
		mkdir "$1/sys"
		cd /proc/sys
		for setting in kernel/panic kernel/panic_on_oops kernel/keys/root_maxkeys kernel/keys/root_maxbytes \
			vm/overcommit_memory vm/panic_on_oom; do
			cat "$setting" >"$1/sys/${setting##*/}"
			mount --bind "$1/sys/${setting##*/}" "$setting"
		done
		touch "$1/namespaces-ready"
		exec sleep infinity' "$ip" "$dir/node$n" "$n"
	wait_for "namespaces$n" test -e "$dir/node$n/namespaces-ready"
}

# link_nodes: with n=2. A pod's address has the number of its node.
link_nodes()
{
	local first second name
	first="nsenter --target $(pid_of namespaces) --net -- ip"
	second="nsenter --target $(pid_of namespaces2) --net -- ip"
	$first link add second type veth peer name node0 netns "$(pid_of namespaces2)"
	$first link set second up
	$second link set node0 up
	$first route add "$ip/32" dev second
	$first route add 10.244.2.0/24 via "$ip" dev second
	$second addr add "$ip/32" dev node0
	$second route add "$server_ip/32" dev node0
	$second route add default via "$server_ip" dev node0
	for name in namespaces namespaces2; do
		nsenter --target "$(pid_of "$name")" --net -- sh -c 'echo 1 >/proc/sys/net/ipv4/ip_forward'
	done
}

import()
{
	ctr --address "$dir/node$n/run/containerd.sock" --namespace k8s.io images import "$1" >/dev/null
}

import2()
{
	of_second
	import "$1"
}

up_node()
{
	"$here/node-config.sh" "$dir" "$node" "$ip" "/$id"
	start containerd
	# what holds the namespaces of a pod
	"$here/make-image.sh" "$dir/node/pause.tar" localhost/pause:1 sleep infinity
	import "$dir/node/pause.tar"
	start kubelet
	start kube-proxy
	inside kubectl --kubeconfig="$dir/kubeconfig/admin" apply -f "$dir/node/dns.yaml" >/dev/null
	start coredns
}

up-second()
{
	[ "$kind" = node ] || die "there is no first node"
	of_second
	if [ "$daemon_tree" = /sys/fs/cgroup ]; then
		mkdir -p "$daemon_tree/$id/node2"
	else
		make_v1_groups "$id/node2"
	fi
	hold_namespaces
	link_nodes
	"$here/pki.sh" node "$dir" "$node" "$ip" "$url" 2
	"$here/node-config.sh" "$dir" "$node" "$ip" "/$id/node2" 2
	start containerd2
	import "$dir/node/pause.tar"
	start kubelet2
	start kube-proxy2
}

down-second()
{
	local name
	# nothing is left to reap its pods by themselves
	inside kubectl --kubeconfig="$dir/kubeconfig/admin" delete node testnode2 --ignore-not-found >/dev/null
	of_second
	for name in kubelet2 kube-proxy2 containerd2; do
		! alive "$name" || stop "$name"
	done
	end_groups "${cgroup_trees[@]/%//$id/node2}"
	! alive namespaces2 || stop namespaces2 KILL
	rm -rf "$dir/node2" "$dir/pid/"*2
}

# up KIND
up()
{
	down
	rm -rf "$dir"
	mkdir -p "$dir/log" "$dir/pid"
	mkdir -m 0700 "$dir/etcd"
	save_settings "$1"
	load_settings
	make_cgroups
	[ "$kind" = api ] || hold_namespaces
	"$here/pki.sh" all "$dir" "$node" "$ip" "$url"
	start etcd
	start kube-apiserver
	if [ -n "$KN_CONTROLLERS" ]; then
		start kube-controller-manager
		start kube-scheduler
	fi
	[ "$kind" = api ] || up_node
}

down()
{
	end_groups "${cgroup_trees[@]/%//$id}"
	find "$dir" -mindepth 1 -maxdepth 1 ! -name log -exec rm -rf {} + 2>/dev/null || true
}

# end_groups FOLDER...: of cgroups, which may not be there
end_groups()
{
	local groups=("$@") pids i
	for ((i = 0; i < 200; i++)); do
		pids=$(find "${groups[@]}" -name cgroup.procs -exec cat {} + 2>/dev/null | sort -u) || true
		[ -n "$pids" ] || break
		# shellcheck disable=SC2086 # a list of words
		kill -KILL $pids 2>/dev/null || true
		sleep 0.05
	done
	[ -z "$pids" ] || die "these do not end: $pids"
	# the last threads may take a moment to be gone
	for ((i = 0; i < 100; i++)); do
		find "${groups[@]}" -depth -type d -exec rmdir {} + 2>/dev/null || true
		[ -n "$(find "${groups[@]}" -maxdepth 0 2>/dev/null)" ] || break
		sleep 0.05
	done
}

status()
{
	local name
	for name in "$dir"/pid/*; do
		name=${name##*/}
		if alive "$name"; then
			printf '%-24s %s\n' "$name" "$(ps -o pid=,rss=,etime=,time= -p "$(pid_of "$name")")"
		else
			printf '%-24s ended\n' "$name"
		fi
	done
}

command=${1:-}
[ $# -eq 0 ] || shift
case $command in
up) up api ;;
up-node) up node ;;
down) down ;;
kubectl | exec)
	load_settings
	export KUBECONFIG=$dir/kubeconfig/admin KN_DIR=$dir
	[ "$command" = exec ] || set -- kubectl "$@"
	inside "$@"
	;;
import | import2 | up-second | down-second | stop | start | signal | compact | status)
	load_settings
	"$command" "$@"
	;;
*)
	sed -n '2,/^set -/{/^#/s/^# \{0,1\}//p}' "$0" >&2
	exit 2
	;;
esac
