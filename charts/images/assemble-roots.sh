#!/bin/sh
# assemble-roots.sh DIR IMAGE…: what the final stages of the Dockerfile copy, below DIR/root.image.
# The environment is that of rootfs.sh.
set -eu
dir=$1/root.image
shift
rm -rf "$dir"
# the data directory belongs to the user of the cluster-agent: the Dockerfile says so
install -d -m 0755 "$dir/writable"
install -d -m 0700 "$dir/writable/coroot-cluster-agent"
for image in "$@"; do
	"$(dirname "$0")/rootfs.sh" "$image" "$dir/$image"
	[ "$image" != cluster-agent-store ] || "$(dirname "$0")/rootfs.sh" engine "$dir/engine"
done
