#include "node-agent/workload/cgroup_path.h"
#include "test/lib/unit.h"

#define ID "0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef"

/* Lines and whole files as they are on the platforms that are named. */
static const struct {
	const char *text;
	enum cgroup_kind kind;
	const char *id;
	const char *pod_uid; /* NULL: none */
} cases[] = {
	/* Docker: both drivers, both versions, rootless, Swarm, Docker in Docker, ECS */
	{"0::/system.slice"
	 "/docker-" ID ".scope\n",
	 CGROUP_DOCKER, ID},
	{"0::/docker/" ID "\n", CGROUP_DOCKER, ID},
	{"0::/docker/" ID "/system.slice/inner.service\n", CGROUP_DOCKER, ID},
	{"12:net_cls,net_prio:/docker"
	 "/2403ccfe427f1dc7b6120dccb9ac58c2f8456950380d587a9f33ea7f00dd303d\n"
	 "11:freezer:/docker"
	 "/2403ccfe427f1dc7b6120dccb9ac58c2f8456950380d587a9f33ea7f00dd303d\n10:rdma:/\n"
	 "9:blkio:/docker/2403ccfe427f1dc7b6120dccb9ac58c2f8456950380d587a9f33ea7f00dd303d\n"
	 "8:memory:/docker/2403ccfe427f1dc7b6120dccb9ac58c2f8456950380d587a9f33ea7f00dd303d\n"
	 "7:perf_event:/docker"
	 "/2403ccfe427f1dc7b6120dccb9ac58c2f8456950380d587a9f33ea7f00dd303d\n"
	 "6:hugetlb:/docker/2403ccfe427f1dc7b6120dccb9ac58c2f8456950380d587a9f33ea7f00dd303d\n"
	 "5:cpuset:/docker/2403ccfe427f1dc7b6120dccb9ac58c2f8456950380d587a9f33ea7f00dd303d\n"
	 "4:devices:/docker/2403ccfe427f1dc7b6120dccb9ac58c2f8456950380d587a9f33ea7f00dd303d\n"
	 "3:pids:/docker/2403ccfe427f1dc7b6120dccb9ac58c2f8456950380d587a9f33ea7f00dd303d\n"
	 "2:cpu,cpuacct:/docker"
	 "/2403ccfe427f1dc7b6120dccb9ac58c2f8456950380d587a9f33ea7f00dd303d\n"
	 "1:name=systemd:/docker"
	 "/2403ccfe427f1dc7b6120dccb9ac58c2f8456950380d587a9f33ea7f00dd303d\n"
	 "0::/system.slice/containerd.service\n",
	 CGROUP_DOCKER, "2403ccfe427f1dc7b6120dccb9ac58c2f8456950380d587a9f33ea7f00dd303d"},
	{"5:cpu,cpuacct:/docker"
	 "/" ID "\n"
	 "1:name=systemd:/docker"
	 "/" ID "\n0::/\n",
	 CGROUP_DOCKER, ID},
	{"2:memory:/docker/" ID "\n"
	 "1:cpuset:/other\n",
	 CGROUP_DOCKER, ID},
	{"12:net_cls,net_prio:/docker"
	 "/10234c078fce6da0cb3e58c9da71a01852f0241bd5ce6b0e9fd19ec296e1aea0\n"
	 "11:freezer:/docker"
	 "/10234c078fce6da0cb3e58c9da71a01852f0241bd5ce6b0e9fd19ec296e1aea0\n10:rdma:/\n"
	 "9:blkio:/docker/10234c078fce6da0cb3e58c9da71a01852f0241bd5ce6b0e9fd19ec296e1aea0\n"
	 "8:memory:/docker/10234c078fce6da0cb3e58c9da71a01852f0241bd5ce6b0e9fd19ec296e1aea0\n"
	 "7:perf_event:/docker"
	 "/10234c078fce6da0cb3e58c9da71a01852f0241bd5ce6b0e9fd19ec296e1aea0\n"
	 "6:hugetlb:/docker/10234c078fce6da0cb3e58c9da71a01852f0241bd5ce6b0e9fd19ec296e1aea0\n"
	 "5:cpuset:/nomad/shared\n"
	 "4:devices:/docker/10234c078fce6da0cb3e58c9da71a01852f0241bd5ce6b0e9fd19ec296e1aea0\n"
	 "3:pids:/docker/10234c078fce6da0cb3e58c9da71a01852f0241bd5ce6b0e9fd19ec296e1aea0\n"
	 "2:cpu,cpuacct:/docker"
	 "/10234c078fce6da0cb3e58c9da71a01852f0241bd5ce6b0e9fd19ec296e1aea0\n"
	 "1:name=systemd:/docker"
	 "/10234c078fce6da0cb3e58c9da71a01852f0241bd5ce6b0e9fd19ec296e1aea0\n",
	 CGROUP_DOCKER, "10234c078fce6da0cb3e58c9da71a01852f0241bd5ce6b0e9fd19ec296e1aea0"},
	{"0::/user.slice/user-1000.slice/user@1000.service/user.slice"
	 "/docker-" ID ".scope\n",
	 CGROUP_DOCKER, ID},
	{"0::/docker/" ID "/docker"
	 "/2403ccfe427f1dc7b6120dccb9ac58c2f8456950380d587a9f33ea7f00dd303d\n",
	 CGROUP_DOCKER, "2403ccfe427f1dc7b6120dccb9ac58c2f8456950380d587a9f33ea7f00dd303d"},
	{"0::/system.slice"
	 "/docker-" ID ".scope"
	 "/docker/2403ccfe427f1dc7b6120dccb9ac58c2f8456950380d587a9f33ea7f00dd303d/init\n",
	 CGROUP_DOCKER, "2403ccfe427f1dc7b6120dccb9ac58c2f8456950380d587a9f33ea7f00dd303d"},
	{"0::/mycgroup.slice"
	 "/docker-" ID ".scope\n",
	 CGROUP_DOCKER, ID},
	{"0::/my-parent/" ID "\n", CGROUP_CONTAINER, ID},
	{"4:perf_event:/ecs/a52246f2-daa7-47b4-9e84-0043331e1da0"
	 "/38dcd24c1a7ac4b0401a1ed29ef79b0c030631df33322db9b092687c0bfd0a38\n"
	 "3:memory:/ecs/a52246f2-daa7-47b4-9e84-0043331e1da0"
	 "/38dcd24c1a7ac4b0401a1ed29ef79b0c030631df33322db9b092687c0bfd0a38\n"
	 "2:hugetlb:/ecs/a52246f2-daa7-47b4-9e84-0043331e1da0"
	 "/38dcd24c1a7ac4b0401a1ed29ef79b0c030631df33322db9b092687c0bfd0a38\n"
	 "1:freezer:/ecs/a52246f2-daa7-47b4-9e84-0043331e1da0"
	 "/38dcd24c1a7ac4b0401a1ed29ef79b0c030631df33322db9b092687c0bfd0a38\n",
	 CGROUP_DOCKER, "38dcd24c1a7ac4b0401a1ed29ef79b0c030631df33322db9b092687c0bfd0a38"},
	{"0::/ecstasks.slice/ecstasks-bf1ddbfbbc8f45c9b1ac4f779368741e.slice"
	 "/docker-" ID ".scope\n",
	 CGROUP_DOCKER, ID},
	{"1:name=systemd:/ecs/34dc0b5e626f2c5c4c5170e34b10e765-1234567890\n", CGROUP_CONTAINER,
	 "34dc0b5e626f2c5c4c5170e34b10e765-1234567890"},
	{"4:memory:/ecs/34dc0b5e626f2c5c4c5170e34b10e765"
	 "/34dc0b5e626f2c5c4c5170e34b10e765-1234567890\n",
	 CGROUP_CONTAINER, "34dc0b5e626f2c5c4c5170e34b10e765-1234567890"},
	{"0::/docker/buildkit/x5h7oizyhrunip3o2urd7of1d\n", CGROUP_NONE, ""},
	/* Kubernetes: containerd, CRI-O, Docker; systemd driver */
	{"0::/kubepods.slice/kubepods-burstable.slice"
	 "/kubepods-burstable-pode1465238_4518_4c21_832f_fd9f87033dad.slice"
	 "/cri-containerd-66be9b2efdf4d85288c319b8c1a2f50d2439b5617e36f45d9d0d0be1381113be.scope\n",
	 CGROUP_CONTAINERD, "66be9b2efdf4d85288c319b8c1a2f50d2439b5617e36f45d9d0d0be1381113be",
	 .pod_uid = "e1465238-4518-4c21-832f-fd9f87033dad"},
	{"0::/kubepods.slice/kubepods-pod8f3c1d2e_5a6b_4c7d_9e8f_0a1b2c3d4e5f.slice"
	 "/cri-containerd-" ID ".scope\n",
	 CGROUP_CONTAINERD, ID, .pod_uid = "8f3c1d2e-5a6b-4c7d-9e8f-0a1b2c3d4e5f"},
	{"11:devices:/system.slice/containerd.service"
	 "/kubepods-pod87a18a64_b74a_454a_b10b_a4a36059d0a3.slice:cri-containerd:"
	 "05c48c82caff3be3d7f1e896981dd410e81487538936914f32b624d168de9db0\n"
	 "1:name=systemd:/system.slice/containerd.service"
	 "/kubepods-pod87a18a64_b74a_454a_b10b_a4a36059d0a3.slice:cri-containerd:"
	 "05c48c82caff3be3d7f1e896981dd410e81487538936914f32b624d168de9db0\n",
	 CGROUP_CONTAINERD, "05c48c82caff3be3d7f1e896981dd410e81487538936914f32b624d168de9db0",
	 .pod_uid = "87a18a64-b74a-454a-b10b-a4a36059d0a3"},
	{"0::/system.slice"
	 "/kubepods-burstable-pod8f3c1d2e_5a6b_4c7d_9e8f_0a1b2c3d4e5f.slice:cri-containerd:" ID
	 "\n",
	 CGROUP_CONTAINERD, ID, .pod_uid = "8f3c1d2e-5a6b-4c7d-9e8f-0a1b2c3d4e5f"},
	{"11:pids:/kubepods.slice/kubepods-besteffort.slice"
	 "/kubepods-besteffort-pod82f40de6_1226_4577_ab35_2f378b9f5e49.slice"
	 "/docker-ca0587256640e2964fb4656da0d99828966f90ba96a29a650860e0ca63e8eced.scope\n",
	 CGROUP_DOCKER, "ca0587256640e2964fb4656da0d99828966f90ba96a29a650860e0ca63e8eced",
	 .pod_uid = "82f40de6-1226-4577-ab35-2f378b9f5e49"},
	{"0::/kubepods.slice/kubepods-besteffort.slice"
	 "/kubepods-besteffort-pod9692aa0e_748e_11e8_8dfa_76d458035df6.slice"
	 "/docker-abddff03dfd7710c79a750ce3e730365cbb2c8247a974170c1062683bc3e9152.scope\n",
	 CGROUP_DOCKER, "abddff03dfd7710c79a750ce3e730365cbb2c8247a974170c1062683bc3e9152",
	 .pod_uid = "9692aa0e-748e-11e8-8dfa-76d458035df6"},
	{"0::/kubepods.slice/kubepods-besteffort.slice"
	 "/kubepods-besteffort-pod8f3c1d2e_5a6b_4c7d_9e8f_0a1b2c3d4e5f.slice"
	 "/crio-" ID ".scope"
	 "/container\n",
	 CGROUP_CRIO, ID, .pod_uid = "8f3c1d2e-5a6b-4c7d-9e8f-0a1b2c3d4e5f"},
	{"0::/kubepods.slice/kubepods-burstable.slice"
	 "/kubepods-burstable-pod8f3c1d2e_5a6b_4c7d_9e8f_0a1b2c3d4e5f.slice"
	 "/crio-conmon-" ID ".scope\n",
	 CGROUP_NONE, ""},
	{"0::/kubepods.slice/kubepods-burstable.slice"
	 "/kubepods-burstable-podc704ef4c297ab11032b83ce52cbfc87b.slice"
	 "/cri-containerd-2327a2aec169e25cf05f2a901486b7463fdb513ae097fc0ae6a3ca94381ddc42.scope\n",
	 CGROUP_CONTAINERD, "2327a2aec169e25cf05f2a901486b7463fdb513ae097fc0ae6a3ca94381ddc42",
	 .pod_uid = "c704ef4c297ab11032b83ce52cbfc87b"},
	{"0::/kubepods.slice/kubepods-burstable.slice"
	 "/kubepods-burstable-pod8f3c1d2e_5a6b_4c7d_9e8f_0a1b2c3d4e5f.slice\n",
	 CGROUP_KUBEPODS, "pod8f3c1d2e-5a6b-4c7d-9e8f-0a1b2c3d4e5f",
	 .pod_uid = "8f3c1d2e-5a6b-4c7d-9e8f-0a1b2c3d4e5f"},
	/* Kubernetes: cgroupfs driver, as with GKE, k3s, microk8s, k0s */
	{"0::/kubepods/burstable/pod8f3c1d2e-5a6b-4c7d-9e8f-0a1b2c3d4e5f"
	 "/" ID "\n",
	 CGROUP_KUBEPODS, ID, .pod_uid = "8f3c1d2e-5a6b-4c7d-9e8f-0a1b2c3d4e5f"},
	{"12:memory:/kubepods/pod3e9ee100-e307-4474-8c4c-e97428ebaacd"
	 "/9e5be931ec7edbc65dd2d67f55e4125e253e94430365dcaf01505cf5e1873abc\n0::/\n",
	 CGROUP_KUBEPODS, "9e5be931ec7edbc65dd2d67f55e4125e253e94430365dcaf01505cf5e1873abc",
	 .pod_uid = "3e9ee100-e307-4474-8c4c-e97428ebaacd"},
	{"12:net_cls,net_prio:/kubepods/besteffort/pod8f3c1d2e-5a6b-4c7d-9e8f-0a1b2c3d4e5f"
	 "/" ID "\n"
	 "11:freezer:/kubepods/besteffort/pod8f3c1d2e-5a6b-4c7d-9e8f-0a1b2c3d4e5f"
	 "/" ID "\n"
	 "10:rdma:/kubepods/besteffort/pod8f3c1d2e-5a6b-4c7d-9e8f-0a1b2c3d4e5f"
	 "/" ID "\n"
	 "9:blkio:/kubepods/besteffort/pod8f3c1d2e-5a6b-4c7d-9e8f-0a1b2c3d4e5f"
	 "/" ID "\n"
	 "8:memory:/kubepods/besteffort/pod8f3c1d2e-5a6b-4c7d-9e8f-0a1b2c3d4e5f"
	 "/" ID "\n"
	 "7:perf_event:/kubepods/besteffort/pod8f3c1d2e-5a6b-4c7d-9e8f-0a1b2c3d4e5f"
	 "/" ID "\n"
	 "6:hugetlb:/kubepods/besteffort/pod8f3c1d2e-5a6b-4c7d-9e8f-0a1b2c3d4e5f"
	 "/" ID "\n"
	 "5:cpuset:/kubepods/besteffort/pod8f3c1d2e-5a6b-4c7d-9e8f-0a1b2c3d4e5f"
	 "/" ID "\n"
	 "4:devices:/kubepods/besteffort/pod8f3c1d2e-5a6b-4c7d-9e8f-0a1b2c3d4e5f"
	 "/" ID "\n"
	 "3:pids:/kubepods/besteffort/pod8f3c1d2e-5a6b-4c7d-9e8f-0a1b2c3d4e5f"
	 "/" ID "\n"
	 "2:cpu,cpuacct:/kubepods/besteffort/pod8f3c1d2e-5a6b-4c7d-9e8f-0a1b2c3d4e5f"
	 "/" ID "\n"
	 "1:name=systemd:/system.slice/k3s.service\n0::/system.slice/k3s.service\n",
	 CGROUP_KUBEPODS, ID, .pod_uid = "8f3c1d2e-5a6b-4c7d-9e8f-0a1b2c3d4e5f"},
	{"0::/kubepods/burstable/pod8f3c1d2e-5a6b-4c7d-9e8f-0a1b2c3d4e5f"
	 "/crio-" ID "\n",
	 CGROUP_CRIO, ID, .pod_uid = "8f3c1d2e-5a6b-4c7d-9e8f-0a1b2c3d4e5f"},
	{"0::/kubepods/burstable/pod8f3c1d2e-5a6b-4c7d-9e8f-0a1b2c3d4e5f"
	 "/crio-conmon-" ID "\n",
	 CGROUP_NONE, ""},
	{"0::/kubepods/burstable/pod8f3c1d2e-5a6b-4c7d-9e8f-0a1b2c3d4e5f\n", CGROUP_KUBEPODS,
	 "pod8f3c1d2e-5a6b-4c7d-9e8f-0a1b2c3d4e5f",
	 .pod_uid = "8f3c1d2e-5a6b-4c7d-9e8f-0a1b2c3d4e5f"},
	{"0::/node-7f2a/kubepods/besteffort/pod8f3c1d2e-5a6b-4c7d-9e8f-0a1b2c3d4e5f"
	 "/" ID "\n",
	 CGROUP_KUBEPODS, ID, .pod_uid = "8f3c1d2e-5a6b-4c7d-9e8f-0a1b2c3d4e5f"},
	{"0::/kubepods/burstable/podd7f1ad8ccb5ae2b6fb8a7b1dea4d5aa8"
	 "/" ID "\n",
	 CGROUP_KUBEPODS, ID, .pod_uid = "d7f1ad8ccb5ae2b6fb8a7b1dea4d5aa8"},
	{"0::/kubepods/burstable/pod8f3c1d2e-5a6b-4c7d-9e8f-0a1b2c3d4e5f"
	 "/" ID "/init.scope\n",
	 CGROUP_KUBEPODS, ID, .pod_uid = "8f3c1d2e-5a6b-4c7d-9e8f-0a1b2c3d4e5f"},
	{"0::/kubepods/besteffort\n", CGROUP_NONE, ""},
	{"4:cpu,cpuacct:/kubepods/pod8f3c1d2e-5a6b-4c7d-9e8f-0a1b2c3d4e5f"
	 "/" ID "\n"
	 "0::/system.slice/containerd.service\n",
	 CGROUP_KUBEPODS, ID, .pod_uid = "8f3c1d2e-5a6b-4c7d-9e8f-0a1b2c3d4e5f"},
	{"0::/user.slice/user-1000.slice/user@1000.service/k3s-rootless.service/kubepods"
	 "/besteffort/pod8f3c1d2e-5a6b-4c7d-9e8f-0a1b2c3d4e5f"
	 "/" ID "\n",
	 CGROUP_KUBEPODS, ID, .pod_uid = "8f3c1d2e-5a6b-4c7d-9e8f-0a1b2c3d4e5f"},
	{"0::/system.slice/k3s.service\n", CGROUP_SYSTEMD, "/system.slice/k3s.service"},
	{"0::/system.slice/snap.microk8s.daemon-kubelite.service\n", CGROUP_SYSTEMD,
	 "/system.slice/snap.microk8s.daemon-kubelite.service"},
	{"0::/system.slice/k0scontroller.service\n", CGROUP_SYSTEMD,
	 "/system.slice/k0scontroller.service"},
	{"0::/kubelet.slice\n", CGROUP_NONE, ""},
	{"0::/kube.slice/kubelet.service\n", CGROUP_SYSTEMD, "/kube.slice/kubelet.service"},
	{"0::/podruntime.slice/kubelet.service\n", CGROUP_SYSTEMD,
	 "/podruntime.slice/kubelet.service"},
	{"0::/runtime.slice/containerd.service\n", CGROUP_SYSTEMD,
	 "/runtime.slice/containerd.service"},
	{"4:cpu:/kata_overhead"
	 "/" ID "\n",
	 CGROUP_CONTAINER, ID},
	/* kind and minikube: nodes in containers; the innermost container is the one */
	{"0::/kubelet.slice/kubelet-kubepods.slice/kubelet-kubepods-burstable.slice"
	 "/kubelet-kubepods-burstable-podb1e89a2fcc688644de3eb95aee8025ce.slice"
	 "/cri-containerd-ee3fc60554cd9eefdd745a10dda84e041a7883c0381d067e76185d342de64759.scope\n",
	 CGROUP_CONTAINERD, "ee3fc60554cd9eefdd745a10dda84e041a7883c0381d067e76185d342de64759",
	 .pod_uid = "b1e89a2fcc688644de3eb95aee8025ce"},
	{"0::/system.slice"
	 "/docker-2403ccfe427f1dc7b6120dccb9ac58c2f8456950380d587a9f33ea7f00dd303d.scope"
	 "/kubelet.slice/kubelet-kubepods.slice/kubelet-kubepods-burstable.slice"
	 "/kubelet-kubepods-burstable-pod8f3c1d2e_5a6b_4c7d_9e8f_0a1b2c3d4e5f.slice"
	 "/cri-containerd-" ID ".scope\n",
	 CGROUP_CONTAINERD, ID, .pod_uid = "8f3c1d2e-5a6b-4c7d-9e8f-0a1b2c3d4e5f"},
	{"0::/docker/2403ccfe427f1dc7b6120dccb9ac58c2f8456950380d587a9f33ea7f00dd303d/kubelet"
	 "/kubepods/burstable/pod8f3c1d2e-5a6b-4c7d-9e8f-0a1b2c3d4e5f"
	 "/" ID "\n",
	 CGROUP_KUBEPODS, ID, .pod_uid = "8f3c1d2e-5a6b-4c7d-9e8f-0a1b2c3d4e5f"},
	{"0::/docker/2403ccfe427f1dc7b6120dccb9ac58c2f8456950380d587a9f33ea7f00dd303d/kubelet"
	 "/kubepods/burstable/pod8f3c1d2e-5a6b-4c7d-9e8f-0a1b2c3d4e5f\n",
	 CGROUP_KUBEPODS, "pod8f3c1d2e-5a6b-4c7d-9e8f-0a1b2c3d4e5f",
	 .pod_uid = "8f3c1d2e-5a6b-4c7d-9e8f-0a1b2c3d4e5f"},
	{"0::/docker/d6701ec289c56e4391acb11d07474b3139466857a305490575508a8b7a9fcf22"
	 "/kubepods.slice/kubepods-besteffort.slice"
	 "/kubepods-besteffort-pod2ca4a155_3599_498d_bb9d_4446693fa3ea.slice"
	 "/crio-0ba8ac17e4e7a31fb82279503552fe94e64bab4745bf6fd2ff231e7c8ca8bed0.scope\n",
	 CGROUP_CRIO, "0ba8ac17e4e7a31fb82279503552fe94e64bab4745bf6fd2ff231e7c8ca8bed0",
	 .pod_uid = "2ca4a155-3599-498d-bb9d-4446693fa3ea"},
	{"0::/system.slice"
	 "/docker-89ac90181a86fdea23d87ab993ceb698aa61528123c23135ef43fe5246a1b11e.scope"
	 "/system.slice/containerd.service\n",
	 CGROUP_DOCKER, "89ac90181a86fdea23d87ab993ceb698aa61528123c23135ef43fe5246a1b11e"},
	{"0::/docker/2403ccfe427f1dc7b6120dccb9ac58c2f8456950380d587a9f33ea7f00dd303d"
	 "/kubelet.slice/kubelet.service\n",
	 CGROUP_DOCKER, "2403ccfe427f1dc7b6120dccb9ac58c2f8456950380d587a9f33ea7f00dd303d"},
	{"0::/kubepods/burstable/pod8f3c1d2e-5a6b-4c7d-9e8f-0a1b2c3d4e5f"
	 "/" ID "/docker"
	 "/2403ccfe427f1dc7b6120dccb9ac58c2f8456950380d587a9f33ea7f00dd303d\n",
	 CGROUP_DOCKER, "2403ccfe427f1dc7b6120dccb9ac58c2f8456950380d587a9f33ea7f00dd303d",
	 .pod_uid = "8f3c1d2e-5a6b-4c7d-9e8f-0a1b2c3d4e5f"},
	{"0::/machine.slice"
	 "/libpod-" ID ".scope"
	 "/container/kubelet.slice/kubelet-kubepods.slice"
	 "/kubelet-kubepods-pod8f3c1d2e_5a6b_4c7d_9e8f_0a1b2c3d4e5f.slice"
	 "/cri-containerd-2403ccfe427f1dc7b6120dccb9ac58c2f8456950380d587a9f33ea7f00dd303d.scope\n",
	 CGROUP_CONTAINERD, "2403ccfe427f1dc7b6120dccb9ac58c2f8456950380d587a9f33ea7f00dd303d",
	 .pod_uid = "8f3c1d2e-5a6b-4c7d-9e8f-0a1b2c3d4e5f"},
	/* from inside another cgroup namespace, such as a container's that runs the agent */
	{"0::/../../kubepods/pod8f3c1d2e-5a6b-4c7d-9e8f-0a1b2c3d4e5f"
	 "/" ID "\n",
	 CGROUP_KUBEPODS, ID, .pod_uid = "8f3c1d2e-5a6b-4c7d-9e8f-0a1b2c3d4e5f"},
	{"0::/../../pod8f3c1d2e-5a6b-4c7d-9e8f-0a1b2c3d4e5f"
	 "/" ID "\n",
	 CGROUP_KUBEPODS, ID, .pod_uid = "8f3c1d2e-5a6b-4c7d-9e8f-0a1b2c3d4e5f"},
	{"0::/../../kubepods-burstable-pod8f3c1d2e_5a6b_4c7d_9e8f_0a1b2c3d4e5f.slice"
	 "/cri-containerd-" ID ".scope\n",
	 CGROUP_CONTAINERD, ID, .pod_uid = "8f3c1d2e-5a6b-4c7d-9e8f-0a1b2c3d4e5f"},
	{"0::/.."
	 "/cri-containerd-" ID ".scope\n",
	 CGROUP_CONTAINERD, ID},
	{"0::/../" ID "\n", CGROUP_CONTAINER, ID},
	{"0::/../../../system.slice/cron.service\n", CGROUP_SYSTEMD, "/system.slice/cron.service"},
	{"0::/../../..\n", CGROUP_NONE, ""},
	/* podman: root, rootless, pods, quadlets, cgroupfs; conmon is no container */
	{"0::/machine.slice"
	 "/libpod-" ID ".scope"
	 "/container\n",
	 CGROUP_PODMAN, ID},
	{"0::/user.slice/user-1000.slice/user@1000.service/user.slice"
	 "/libpod-" ID ".scope"
	 "/container\n",
	 CGROUP_PODMAN, ID},
	{"0::/user.slice/user-1000.slice/user@1000.service/user.slice"
	 "/user-libpod_pod_2403ccfe427f1dc7b6120dccb9ac58c2f8456950380d587a9f33ea7f00dd303d.slice"
	 "/libpod-" ID ".scope"
	 "/container\n",
	 CGROUP_PODMAN, ID},
	{"0::/machine.slice"
	 "/machine-libpod_pod_2403ccfe427f1dc7b6120dccb9ac58c2f8456950380d587a9f33ea7f00dd303d."
	 "slice"
	 "/libpod-" ID ".scope\n",
	 CGROUP_PODMAN, ID},
	{"0::/machine.slice"
	 "/libpod-conmon-0411a2a82311fbc65b137ca550d5f7e6b6863bc734759be2f515b0b67062d49a.scope\n",
	 CGROUP_NONE, ""},
	{"0::/machine.slice"
	 "/libpod-0411a2a82311fbc65b137ca550d5f7e6b6863bc734759be2f515b0b67062d49a.scope\n",
	 CGROUP_PODMAN, "0411a2a82311fbc65b137ca550d5f7e6b6863bc734759be2f515b0b67062d49a"},
	{"0::/system.slice/quadlet-minimal.service"
	 "/libpod-payload-91c57c2ae87a8d57123bbb3083b3e158b911c4fd485da131f636f83f979b092c\n",
	 CGROUP_PODMAN, "91c57c2ae87a8d57123bbb3083b3e158b911c4fd485da131f636f83f979b092c"},
	{"0::/system.slice/quadlet-minimal.service/runtime\n", CGROUP_SYSTEMD,
	 "/system.slice/quadlet-minimal.service"},
	{"0::/user.slice/user-1000.slice/user@1000.service/app.slice/nextcloud.service"
	 "/libpod-payload-c7bcf94f6dff735d99a74161201bd7b9272f113188b22b93ad48cd853966a22d\n",
	 CGROUP_PODMAN, "c7bcf94f6dff735d99a74161201bd7b9272f113188b22b93ad48cd853966a22d"},
	{"4:memory:/libpod_parent"
	 "/libpod-6dc3fdffbf66b1239d55e98da9aaa759ea51ed35d04eb09d19ebd78963aa26c2"
	 "/system.slice/docker.service\n",
	 CGROUP_PODMAN, "6dc3fdffbf66b1239d55e98da9aaa759ea51ed35d04eb09d19ebd78963aa26c2"},
	{"0::/libpod_parent/2403ccfe427f1dc7b6120dccb9ac58c2f8456950380d587a9f33ea7f00dd303d"
	 "/libpod-" ID "\n",
	 CGROUP_PODMAN, ID},
	{"0::/user.slice/user-1000.slice/user@1000.service/user.slice/podman-2184.scope\n",
	 CGROUP_NONE, ""},
	/* ctr, nerdctl, runc and crun alone */
	{"0::/default/" ID "\n", CGROUP_CONTAINERD, ID},
	{"0::/k8s.io/" ID "\n", CGROUP_CONTAINERD, ID},
	{"0::/default/web\n", CGROUP_CONTAINERD, "web"},
	{"0::/system.slice"
	 "/nerdctl-" ID ".scope\n",
	 CGROUP_CONTAINERD, ID},
	{"0::/system.slice/runc-bpm-galera-agent.scope\n", CGROUP_CONTAINER, "bpm-galera-agent"},
	{"0::/user.slice/user-0.slice/session-3.scope/crun-web.scope\n", CGROUP_CONTAINER, "web"},
	/* LXC, LXD, Incus, Proxmox, nspawn, libvirt */
	{"11:devices:/lxc/x1/system.slice/snapd.service\n"
	 "10:memory:/lxc/x1/system.slice/snapd.service\n9:hugetlb:/lxc/x1\n"
	 "8:perf_event:/lxc/x1\n7:cpuset:/lxc/x1\n6:pids:/lxc/x1/system.slice/snapd.service\n"
	 "5:freezer:/lxc/x1\n4:cpu,cpuacct:/lxc/x1/system.slice/snapd.service\n"
	 "3:net_cls,net_prio:/lxc/x1\n2:blkio:/lxc/x1/system.slice/snapd.service\n"
	 "1:name=systemd:/lxc/x1/system.slice/snapd.service\n",
	 CGROUP_LXC, "x1"},
	{"0::/lxc.payload.web/init.scope\n", CGROUP_LXC, "web"},
	{"0::/lxc.payload/web/system.slice/nginx.service\n", CGROUP_LXC, "web"},
	{"0::/lxc/101/ns/system.slice/postgresql@15-main.service\n", CGROUP_LXC, "101"},
	{"0::/lxc/101/ns/docker"
	 "/" ID "\n",
	 CGROUP_DOCKER, ID},
	{"0::/lxc.payload.web/system.slice"
	 "/docker-" ID ".scope\n",
	 CGROUP_DOCKER, ID},
	{"0::/lxc.monitor.web\n", CGROUP_NONE, ""},
	{"0::/machine.slice/systemd-nspawn@debian.service/payload/system.slice/nginx.service\n",
	 CGROUP_MACHINE, "debian"},
	{"0::/machine.slice/machine-build\\x2dbox.scope/payload/init.scope\n", CGROUP_MACHINE,
	 "build-box"},
	{"0::/machine.slice/machine-qemu\\x2d3\\x2dweb\\x2d01.scope/libvirt/vcpu0\n",
	 CGROUP_MACHINE, "web-01"},
	{"0::/qemu.slice/100.scope\n", CGROUP_MACHINE, "100"},
	/* Nomad */
	{"0::/nomad.slice/share.slice/b30be889-ebb4-8524-cc84-bfd79acd6057.promtail.scope\n",
	 CGROUP_NOMAD, "b30be889-ebb4-8524-cc84-bfd79acd6057/promtail"},
	{"0::/nomad.slice"
	 "/docker-" ID ".scope\n",
	 CGROUP_DOCKER, ID},
	{"4:memory:/nomad/b30be889-ebb4-8524-cc84-bfd79acd6057\n", CGROUP_NOMAD,
	 "b30be889-ebb4-8524-cc84-bfd79acd6057"},
	/* systemd: services of the system and of users */
	{"0::/system.slice/cron.service\n", CGROUP_SYSTEMD, "/system.slice/cron.service"},
	{"0::/system.slice/system-getty.slice/getty@tty1.service\n", CGROUP_SYSTEMD,
	 "/system.slice/getty@tty1.service"},
	{"0::/system.slice/containerd.service/inner\n", CGROUP_SYSTEMD,
	 "/system.slice/containerd.service"},
	{"0::/databases.slice/databases-main.slice/postgresql.service\n", CGROUP_SYSTEMD,
	 "/databases.slice/postgresql.service"},
	{"0::/walinuxagent.service\n", CGROUP_SYSTEMD, "/walinuxagent.service"},
	{"1:name=systemd:/system.slice/ssh.service\n", CGROUP_SYSTEMD, "/system.slice/ssh.service"},
	{"12:net_cls,net_prio:/system.slice\n11:freezer:/system.slice\n"
	 "10:rdma:/system.slice\n9:blkio:/system.slice\n8:memory:/system.slice\n"
	 "7:perf_event:/system.slice\n6:hugetlb:/system.slice\n5:cpuset:/\n"
	 "4:devices:/system.slice\n3:pids:/system.slice\n2:cpu,cpuacct:/system.slice\n"
	 "1:name=systemd:/system.slice/nginx.service\n",
	 CGROUP_SYSTEMD, "/system.slice/nginx.service"},
	{"0::/system.slice/run-r1.scope\n", CGROUP_NONE, ""},
	{"0::/system.slice/run-u12.service\n", CGROUP_NONE, ""},
	{"0::/system.slice/run-p4711-i4712.service\n", CGROUP_NONE, ""},
	{"0::/system.slice/run-r42e6ac3d03ec49989f380cd3116efdeb.service\n", CGROUP_NONE, ""},
	{"0::/system.slice/run-parts.service\n", CGROUP_SYSTEMD, "/system.slice/run-parts.service"},
	{"0::/user.slice/user-1000.slice/user@1000.service/app.slice/emacs.service\n",
	 CGROUP_SYSTEMD, "/user.slice/emacs.service"},
	{"0::/user.slice/user-1000.slice/user@1000.service/session.slice/pipewire.service\n",
	 CGROUP_SYSTEMD, "/user.slice/pipewire.service"},
	{"0::/user.slice/user-1000.slice/user@1000.service/app.slice"
	 "/app-rofi-easyeffects-19676.service\n",
	 CGROUP_NONE, ""},
	{"0::/user.slice/user-1000.slice/user@1000.service/app.slice"
	 "/app-gnome-gnome\\x2dsoftware\\x2dservice-13765.scope\n",
	 CGROUP_NONE, ""},
	{"0::/user.slice/user-1000.slice/user@1000.service/init.scope\n", CGROUP_NONE, ""},
	{"0::/init.scope\n", CGROUP_NONE, ""},
	{"0::/\n", CGROUP_NONE, ""},
	/* login sessions and terminals */
	{"0::/user.slice/user-0.slice/session-1.scope\n", CGROUP_NONE, ""},
	{"0::/user.slice/user-1000.slice/session-c2.scope\n", CGROUP_NONE, ""},
	{"4:cpuset:/\n3:cpu,cpuacct:/user.slice\n2:memory:/user.slice\n"
	 "1:name=systemd:/user.slice/user-1000.slice/session-4.scope\n"
	 "0::/user.slice/user-1000.slice/session-4.scope\n",
	 CGROUP_NONE, ""},
	{"0::/user.slice/user-1000.slice/user@1000.service/app.slice"
	 "/app-org.gnome.Terminal.slice/vte-spawn-5f8a6b2e-7e2c-4f0a-9a43-1b7a4d6a2d10.scope\n",
	 CGROUP_NONE, ""},
	{"0::/user.slice/user-1000.slice/user@1000.service"
	 "/tmux-spawn-1f0c1b5e-3a77-4a42-8a6e-0a3a2f2b7c11.scope\n",
	 CGROUP_NONE, ""},
	{"1:name=systemd:/system.slice/ssh.service\n"
	 "0::/user.slice/user-1000.slice/session-4.scope\n",
	 CGROUP_NONE, ""},
	/* Talos */
	{"0::/system/apid\n", CGROUP_TALOS, "apid"},
	{"0::/podruntime/kubelet\n", CGROUP_TALOS, "kubelet"},
	{"0::/init\n", CGROUP_TALOS, "init"},
	/* neither container nor id */
	{"0::/docker/abc\n", CGROUP_NONE, ""},
	{"0::/docker/" ID "0\n", CGROUP_NONE, ""},
	{"4:memory:/process_api/4530286e9d6d0f6ef01d4dd14b65291e\n0::/\n", CGROUP_NONE, ""},
	/* not a cgroup file */
	{"", CGROUP_NONE, ""},
	{"\n\n:\n::\nx", CGROUP_NONE, ""},
};

TEST(every_kind_of_path_is_recognised)
{
	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		const char *uid = cases[i].pod_uid ? cases[i].pod_uid : "";
		struct cgroup_path c;

		cgroup_path_parse(cases[i].text, strlen(cases[i].text), &c);
		if (c.kind != cases[i].kind || strcmp(c.id, cases[i].id) != 0 ||
		    strcmp(c.pod_uid, uid) != 0)
			fail_msg("%s is taken for kind %d, id \"%s\", pod \"%s\"", cases[i].text,
				 c.kind, c.id, c.pod_uid);
	}
}

TEST(a_name_of_any_length_fits)
{
	char text[2000] = "0::/system.slice/";
	struct cgroup_path c;

	memset(text + strlen(text), 'x', 1000);
	memcpy(text + 1017, ".service", 8);
	cgroup_path_parse(text, strlen(text), &c);
	assert_int_equal(c.kind, CGROUP_SYSTEMD);
	assert_int_equal(strlen(c.id), CGROUP_ID_BYTES - 1);
}
