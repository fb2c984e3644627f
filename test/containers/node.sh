#!/bin/bash
# node.sh FOLDER CGROUP: the first process of a machine that has container runtimes and nothing
# else of its own. It runs in PID and mount namespaces of its own (lib/container_node.js), so
# whatever is started in it ends with it, and its sockets are in the usual places without being
# in the way of anybody. Its root is /proc/<its pid>/root for the agent, as a host's is for an
# agent in a container.
#
# FOLDER has what the runtimes store and how they are configured. All cgroups are below /CGROUP.
set -eu
dir=$1 cgroup=$2

mkdir -p "$dir/containers" "$dir/tmp" /var/lib/containers
mount -t tmpfs -o mode=755 node /run
mount -t tmpfs node /dev/shm
mount --bind "$dir/containers" /var/lib/containers
mkdir -p /run/docker /run/runc

# for a root that may lack CAP_SYS_RESOURCE, and without systemd
cat >"$dir/containers.conf" <<END
[containers]
default_ulimits = ["nofile=1024:1024", "nproc=1024:1024"]
cgroupns = "host"
log_driver = "none"
[engine]
cgroup_manager = "cgroupfs"
events_logger = "file"
runtime = "runc"
END
cat >"$dir/storage.conf" <<END
[storage]
driver = "vfs"
runroot = "/run/containers/storage"
graphroot = "/var/lib/containers/storage"
END
cat >"$dir/containerd.toml" <<END
version = 2
root = "$dir/containerd"
disabled_plugins = ["io.containerd.snapshotter.v1.btrfs", "io.containerd.snapshotter.v1.zfs",
  "io.containerd.snapshotter.v1.devmapper", "io.containerd.snapshotter.v1.aufs"]
[plugins."io.containerd.internal.v1.opt"]
  path = "$dir/containerd/opt"
[plugins."io.containerd.grpc.v1.cri"]
  sandbox_image = "localhost/pause:1"
  restrict_oom_score_adj = true
  disable_apparmor = true
  disable_cgroup = false
  netns_mounts_under_state_dir = true
  [plugins."io.containerd.grpc.v1.cri".containerd]
    snapshotter = "overlayfs"
END
echo "$cgroup" >"$dir/cgroup"
touch "$dir/ready"
exec sleep infinity
