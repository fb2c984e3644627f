#include "node-agent/process/cgroup_path.h"
#include "test/lib/unit.h"

#define ID "0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef"
#define UID "8f3c1d2e-5a6b-4c7d-9e8f-0a1b2c3d4e5f"

static const struct {
	const char *text;
	enum cgroup_kind kind;
	const char *id;
} cases[] = {
	/* Docker: cgroupfs and systemd drivers, both versions */
	{"0::/system.slice/docker-" ID ".scope\n", CGROUP_DOCKER, ID},
	{"0::/docker/" ID "\n", CGROUP_DOCKER, ID},
	{"0::/docker/" ID "/system.slice/inner.service\n", CGROUP_DOCKER, ID},
	{"5:cpu,cpuacct:/docker/" ID "\n1:name=systemd:/docker/" ID "\n0::/\n", CGROUP_DOCKER, ID},
	{"2:memory:/docker/" ID "\n1:cpuset:/other\n", CGROUP_DOCKER, ID},
	/* Kubernetes */
	{"0::/kubepods.slice/kubepods-burstable.slice/kubepods-burstable-pod8f3c.slice/"
	 "cri-containerd-" ID ".scope\n",
	 CGROUP_CONTAINERD, ID},
	{"0::/system.slice/kubepods-burstable-pod8f3c.slice:cri-containerd:" ID "\n",
	 CGROUP_CONTAINERD, ID},
	{"0::/kubepods.slice/kubepods-besteffort.slice/kubepods-besteffort-pod1.slice/crio-" ID
	 ".scope/container\n",
	 CGROUP_CRIO, ID},
	{"0::/kubepods.slice/kubepods-pod1.slice/crio-conmon-" ID ".scope\n", CGROUP_NONE, ""},
	{"0::/kubepods/burstable/pod" UID "/" ID "\n", CGROUP_KUBEPODS, ID},
	{"0::/kubepods/burstable/pod" UID "\n", CGROUP_KUBEPODS, "pod" UID},
	{"0::/kubepods.slice/kubepods-burstable.slice/kubepods-burstable-pod8f3c_1d2e.slice\n",
	 CGROUP_KUBEPODS, "pod8f3c_1d2e"},
	{"0::/kubepods/besteffort\n", CGROUP_NONE, ""},
	/* a hybrid host: kubelet's limits are in version 1, version 2 is systemd's */
	{"4:cpu,cpuacct:/kubepods/pod" UID "/" ID "\n0::/system.slice/containerd.service\n",
	 CGROUP_KUBEPODS, ID},
	/* kind: a node in a container; the innermost container is the one */
	{"0::/docker/" ID "/kubelet.slice/kubelet-kubepods.slice/pod1/cri-containerd-"
	 "ffff456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef.scope\n",
	 CGROUP_CONTAINERD, "ffff456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef"},
	/* from inside another cgroup namespace */
	{"0::/../../kubepods/pod1/" ID "\n", CGROUP_KUBEPODS, ID},
	/* other runtimes */
	{"0::/machine.slice/libpod-" ID ".scope/container\n", CGROUP_PODMAN, ID},
	{"0::/user.slice/user-1000.slice/user@1000.service/user.slice/libpod-" ID ".scope\n",
	 CGROUP_PODMAN, ID},
	{"0::/default/" ID "\n", CGROUP_CONTAINERD, ID},
	{"0::/k8s.io/" ID "\n", CGROUP_CONTAINERD, ID},
	{"0::/lxc.payload.web/init.scope\n", CGROUP_LXC, "web"},
	{"0::/lxc/web\n", CGROUP_LXC, "web"},
	/* systemd */
	{"0::/system.slice/cron.service\n", CGROUP_SYSTEMD, "/system.slice/cron.service"},
	{"0::/system.slice/system-getty.slice/getty@tty1.service\n", CGROUP_SYSTEMD,
	 "/system.slice/getty@tty1.service"},
	{"0::/system.slice/containerd.service/inner\n", CGROUP_SYSTEMD,
	 "/system.slice/containerd.service"},
	{"0::/kube.slice/kubelet.service\n", CGROUP_SYSTEMD, "/kube.slice/kubelet.service"},
	{"1:name=systemd:/system.slice/ssh.service\n", CGROUP_SYSTEMD, "/system.slice/ssh.service"},
	{"0::/system.slice/run-r1.scope\n", CGROUP_NONE, ""},
	{"0::/user.slice/user-0.slice/session-1.scope\n", CGROUP_NONE, ""},
	{"0::/init.scope\n", CGROUP_NONE, ""},
	{"0::/\n", CGROUP_NONE, ""},
	/* Talos */
	{"0::/system/apid\n", CGROUP_TALOS, "apid"},
	{"0::/init\n", CGROUP_TALOS, "init"},
	/* neither container nor id */
	{"0::/docker/abc\n", CGROUP_NONE, ""},
	{"0::/docker/" ID "0\n", CGROUP_NONE, ""},
	{"4:memory:/process_api/4530286e9d6d0f6ef01d4dd14b65291e\n0::/\n", CGROUP_NONE, ""},
	/* not a cgroup file */
	{"", CGROUP_NONE, ""},
	{"\n\n:\n::\nx", CGROUP_NONE, ""},
};

static void every_kind_of_path_is_told(void **state)
{
	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		struct cgroup_path c;

		cgroup_path_parse(cases[i].text, strlen(cases[i].text), &c);
		if (c.kind != cases[i].kind || strcmp(c.id, cases[i].id) != 0)
			fail_msg("%s is taken for kind %d, id \"%s\"", cases[i].text, c.kind, c.id);
	}
}

static void a_name_of_any_length_fits(void **state)
{
	char text[2000] = "0::/system.slice/";
	struct cgroup_path c;

	(void)state;
	memset(text + strlen(text), 'x', 1000);
	memcpy(text + 1017, ".service", 8);
	cgroup_path_parse(text, strlen(text), &c);
	assert_int_equal(c.kind, CGROUP_SYSTEMD);
	assert_int_equal(strlen(c.id), CGROUP_ID_BYTES - 1);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(every_kind_of_path_is_told),
		cmocka_unit_test(a_name_of_any_length_fits),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
