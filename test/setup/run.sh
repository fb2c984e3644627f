#!/bin/bash
# "make run": both agents with the embedded store in one terminal, until Ctrl-C.
#
#   PORT=10301        page and API of the cluster-agent, on 127.0.0.1
#   NODE_PORT=10300   metrics of the node-agent, on 127.0.0.1
#   RUN_DIR=build/run profiles (data/) and logs
#   INTERVAL=10s      how often the node-agent sends
#   ENABLE_JAVA_ASYNC_PROFILER=true   Java profiles, too; all options have such a variable
#
# The node-agent needs root, so all of this runs through sudo when it is not; the cluster-agent
# then goes back to the user who called. With --check, only says whether it could start.
set -u
cd "$(dirname "$0")/../.." || exit 1
# shellcheck source=test/setup/http-get.sh
. test/setup/http-get.sh

port=${PORT:-10301}
node_port=${NODE_PORT:-10300}

# Before anything is installed, built or started: an agent that is there already would answer in
# place of ours.
for variable in PORT NODE_PORT; do
	number=$port
	[ $variable = PORT ] || number=$node_port
	(exec 3<>"/dev/tcp/127.0.0.1/$number") 2>/dev/null || continue
	echo "run: port $number is in use; stop what listens there or choose another one," \
		"as in: $variable=$((number + 1000)) make run" >&2
	exit 1
done
if [ "$(id -u)" -ne 0 ]; then
	command -v sudo >/dev/null || {
		echo "run: the node-agent needs root, and there is no sudo; run it as root" >&2
		exit 1
	}
fi
[ "${1:-}" != --check ] || exit 0
if [ "$(id -u)" -ne 0 ]; then
	exec sudo --preserve-env=PORT,NODE_PORT,RUN_DIR,INTERVAL,ENABLE_JAVA_ASYNC_PROFILER,DEPS,BIN "$0" "$@"
fi

# this machine is what is profiled, not the pods of whatever cluster its user works with
unset KUBECONFIG

dir=${RUN_DIR:-build/run}
bin=${BIN:-build/release}
url=http://127.0.0.1:$port
# both agents end if this script is killed
agent=(setpriv --pdeathsig TERM)
as_user=()
if [ -n "${SUDO_UID:-}" ] && [ "$SUDO_UID" -ne 0 ]; then
	as_user=(setpriv "--reuid=$SUDO_UID" "--regid=$SUDO_GID" --init-groups)
fi
"${as_user[@]}" mkdir -p "$dir/data" || exit 1
cluster_log=$dir/cluster-agent.log
node_log=$dir/node-agent.log
: >"$cluster_log"
: >"$node_log"

cluster_pid='' node_pid='' stopping=''

# stop PID NAME: asks, waits, and insists after the time that a flush may take
stop()
{
	local pid=$1 i
	[ -n "$pid" ] && kill -TERM "$pid" 2>/dev/null || return 0
	for ((i = 0; i < 150; i++)); do
		kill -0 "$pid" 2>/dev/null || return 0
		sleep 0.1
	done
	echo "run: the $2 does not stop; killing it" >&2
	kill -KILL "$pid" 2>/dev/null
}

# the node-agent first: it still sends what it has
stop_both()
{
	stop "$node_pid" node-agent
	stop "$cluster_pid" cluster-agent
	wait "$node_pid" "$cluster_pid" 2>/dev/null
	[ -z "${SUDO_UID:-}" ] || chown -R "$SUDO_UID:$SUDO_GID" "$dir"
	sleep 0.2 # the last lines of the logs reach the terminal
}
trap 'stopping=1' INT TERM HUP

# died NAME LOG STATUS: the other one cannot be of use alone
died()
{
	stop_both
	echo "run: the $1 ended by itself (status $3); its last lines, from $2:" >&2
	tail -n 5 "$2" >&2
	exit 1
}

# Both in their own sessions, so that Ctrl-C reaches only this script, which knows the order.
setsid "${as_user[@]}" "${agent[@]}" "$bin/coroot-cluster-agent" --listen="127.0.0.1:$port" \
	--storage=embedded --data-dir="$dir/data" "$@" >>"$cluster_log" 2>&1 </dev/null &
cluster_pid=$!
tail -n +1 --pid=$$ -f "$cluster_log" 2>/dev/null | sed -u 's/^/cluster-agent: /' &
tail -n +1 --pid=$$ -f "$node_log" 2>/dev/null | sed -u 's/^/node-agent:    /' &

# wait_for PORT PATH: until an agent answers there, up to two minutes on a busy machine
wait_for()
{
	local i
	for ((i = 0; i < 1200; i++)); do
		[ -z "$stopping" ] || { stop_both; exit 0; }
		http_get 127.0.0.1 "$1" "$2" >/dev/null && return 0
		kill -0 "$cluster_pid" 2>/dev/null ||
			{ wait "$cluster_pid"; died cluster-agent "$cluster_log" $?; }
		[ -z "$node_pid" ] || kill -0 "$node_pid" 2>/dev/null ||
			{ wait "$node_pid"; died node-agent "$node_log" $?; }
		sleep 0.1
	done
	echo "run: no answer from http://127.0.0.1:$1$2 within two minutes" >&2
	stop_both
	exit 1
}
wait_for "$port" /readyz

# no spool: root's files would be in the way of who removes the folder later
setsid "${agent[@]}" "$bin/coroot-node-agent" --listen="127.0.0.1:$node_port" --collector-endpoint="$url" \
	--profile-interval="${INTERVAL:-10s}" --wal-dir= >>"$node_log" 2>&1 </dev/null &
node_pid=$!
wait_for "$node_port" /healthz

cat <<END

  Profiling this machine. Open  $url  (first data in ${INTERVAL:-10s})
  Profiles are kept in $dir/data, logs in $dir; Ctrl-C stops both agents.

END

while [ -z "$stopping" ]; do
	kill -0 "$cluster_pid" 2>/dev/null ||
		{ wait "$cluster_pid"; died cluster-agent "$cluster_log" $?; }
	kill -0 "$node_pid" 2>/dev/null || { wait "$node_pid"; died node-agent "$node_log" $?; }
	sleep 0.5 &
	wait $! # unlike sleep itself, interrupted by a signal at once
done
echo "run: stopping"
stop_both
