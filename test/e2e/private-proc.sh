#!/bin/sh
# Runs a command that sees only some processes in /proc: private-proc.sh "PID …" COMMAND ARGUMENT…
# Everything else there is as it is. An agent that is told to write to all Go processes of the node then writes to
# these. In a mount namespace of its own, whose mounts are no one else's.
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
