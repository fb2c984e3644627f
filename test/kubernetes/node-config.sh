#!/bin/bash
# node-config.sh DIR NODE IP CGROUP [N]: writes the configuration of a node's daemons into DIR/node<N>,
# for a root that may lack CAP_SYS_RESOURCE, for cgroup v1 or v2, and for no systemd. The address ends
# with the number of the node.
set -eu
dir=$1 node=$2 ip=$3 cgroup=$4 n=${5:-}
state=$dir/node$n
mkdir -p "$state/cni" "$state/kubelet" "$state/manifests" "$state/run"

cat >"$state/cni/10-bridge.conflist" <<END
{"cniVersion": "1.0.0", "name": "bridge", "plugins": [
  {"type": "bridge", "bridge": "cni0", "isGateway": true, "hairpinMode": true,
   "ipam": {"type": "host-local", "dataDir": "$state/cni/addresses",
            "ranges": [[{"subnet": "10.244.${ip##*.}.0/24"}]], "routes": [{"dst": "0.0.0.0/0"}]}},
  {"type": "portmap", "capabilities": {"portMappings": true}}]}
END

# oom_score_adj cannot go below the daemon's own without CAP_SYS_RESOURCE, and every pod wants that
cat >"$state/containerd.toml" <<END
version = 2
root = "$state/containerd"
state = "$state/run/containerd"
disabled_plugins = ["io.containerd.snapshotter.v1.btrfs", "io.containerd.snapshotter.v1.zfs",
  "io.containerd.snapshotter.v1.devmapper", "io.containerd.snapshotter.v1.aufs"]
[grpc]
  address = "$state/run/containerd.sock"
[plugins."io.containerd.internal.v1.opt"]
  path = "$state/containerd/opt"
[plugins."io.containerd.grpc.v1.cri"]
  sandbox_image = "localhost/pause:1"
  restrict_oom_score_adj = true
  disable_apparmor = true
  netns_mounts_under_state_dir = true
  [plugins."io.containerd.grpc.v1.cri".cni]
    bin_dir = "/usr/lib/cni"
    conf_dir = "$state/cni"
  [plugins."io.containerd.grpc.v1.cri".containerd]
    snapshotter = "overlayfs"
    [plugins."io.containerd.grpc.v1.cri".containerd.runtimes.runc]
      runtime_type = "io.containerd.runc.v2"
      [plugins."io.containerd.grpc.v1.cri".containerd.runtimes.runc.options]
        SystemdCgroup = false
END

# KubeletInUserNamespace: machine-wide settings that cannot be written are no error.
# Nothing is evicted: a disk that is full of other things must not remove our images.
cat >"$state/kubelet.yaml" <<END
apiVersion: kubelet.config.k8s.io/v1beta1
kind: KubeletConfiguration
address: 0.0.0.0
authentication:
  anonymous: {enabled: false}
  webhook: {enabled: true}
  x509: {clientCAFile: "$dir/pki/ca.crt"}
authorization: {mode: Webhook}
tlsCertFile: "$dir/pki/kubelet-server$n.crt"
tlsPrivateKeyFile: "$dir/pki/kubelet-server$n.key"
containerRuntimeEndpoint: "unix://$state/run/containerd.sock"
featureGates: {KubeletInUserNamespace: true}
cgroupDriver: cgroupfs
cgroupRoot: "$cgroup"
failCgroupV1: false
failSwapOn: false
oomScoreAdj: 0
maxOpenFiles: $(ulimit -n)
clusterDomain: cluster.local
clusterDNS: [10.96.0.10]
resolvConf: ""
staticPodPath: "$state/manifests"
fileCheckFrequency: 1s
podLogsDir: "$dir/log/pods"
volumePluginDir: "$state/kubelet/volume-plugins"
evictionHard: {memory.available: "0%", nodefs.available: "0%", nodefs.inodesFree: "0%", imagefs.available: "0%"}
imageGCHighThresholdPercent: 100
syncFrequency: 10s
nodeStatusUpdateFrequency: 5s
END

# limits of connection tracking are machine-wide too: left alone
cat >"$state/kube-proxy.yaml" <<END
apiVersion: kubeproxy.config.k8s.io/v1alpha1
kind: KubeProxyConfiguration
mode: iptables
bindAddress: $ip
clusterCIDR: 10.244.0.0/16
hostnameOverride: "$node"
clientConnection: {kubeconfig: "$dir/kubeconfig/kube-proxy"}
conntrack: {maxPerCore: 0, min: 0, tcpEstablishedTimeout: 0s, tcpCloseWaitTimeout: 0s}
END

cat >"$state/Corefile" <<END
.:53 {
	errors
	ready 127.0.0.1:8181
	kubernetes cluster.local in-addr.arpa {
		kubeconfig $dir/kubeconfig/kube-controller-manager
	}
}
END

# at the kubelet's clusterDNS; no pods, so the endpoints are written by hand
cat >"$state/dns.yaml" <<END
apiVersion: v1
kind: Service
metadata: {name: kube-dns, namespace: kube-system}
spec:
  clusterIP: 10.96.0.10
  ports: [{name: dns, port: 53, protocol: UDP}, {name: dns-tcp, port: 53}]
---
apiVersion: discovery.k8s.io/v1
kind: EndpointSlice
metadata: {name: kube-dns, namespace: kube-system, labels: {kubernetes.io/service-name: kube-dns}}
addressType: IPv4
endpoints: [{addresses: [$ip]}]
ports: [{name: dns, port: 53, protocol: UDP}, {name: dns-tcp, port: 53}]
END
