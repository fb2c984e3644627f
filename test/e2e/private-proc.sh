#!/bin/sh
# private-proc.sh "PID …" COMMAND ARGUMENT…: runs a command that sees only these processes in
# /proc; the rest of /proc is unchanged. An agent that may write to all Go processes of the node
# then writes only to these. The command gets a mount namespace of its own, so no other process
# is affected.
set -eu
if [ "${PRIVATE_PROC:-}" != inside ]; then
	export PRIVATE_PROC=inside
	exec unshare --mount --propagation unchanged "$0" "$@"
fi
unset PRIVATE_PROC
pids=$1
shift
mount --make-private /proc
mount -t tmpfs none /proc
mkdir /proc/.all
mount -t proc none /proc/.all
for file in /proc/.all/[!0-9]*; do
	ln -s ".all/${file##*/}" /proc/
done
for pid in $pids; do
	ln -s ".all/$pid" "/proc/$pid"
done
exec "$@"
