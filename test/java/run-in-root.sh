#!/bin/sh
# run-in-root.sh ROOT PROGRAM UID COMMAND ARGUMENT…: starts a command as a user, with ROOT as its
# root directory, in a mount namespace of its own. There it has the machine's /proc and /dev, an
# empty /tmp, and the folder PROGRAM as /program. ROOT needs these four folders; nothing is written
# to them. Needs root.
set -eu
if [ "${IN_ROOT:-}" != mounting ]; then
	export IN_ROOT=mounting
	exec unshare --mount --propagation private "$0" "$@"
fi
unset IN_ROOT
root=$1 program=$2 uid=$3
shift 3
mount --rbind /proc "$root/proc"
mount --rbind /dev "$root/dev"
mount -t tmpfs -o mode=1777 none "$root/tmp"
mount --bind "$program" "$root/program"
exec chroot "--userspec=$uid:$uid" "$root" "$@"
