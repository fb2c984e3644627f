#include <errno.h>
#include <fcntl.h>

#include "common/text/utf8.h"
#include "node-agent/workload/program_name.h"
#include "node-agent/workload/workload.h"
#include "test/lib/fake_proc.h"
#include "test/lib/unit.h"

#define ID "0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef"

static void check_names(const struct workload_facts *f, const char *service, const char *container)
{
	CLEANUP(workload_unrefp) struct workload *w = NULL;

	assert_int_equal(workload_new(&w, f), 0);
	assert_string_equal(w->service, service);
	assert_string_equal(w->container_id, container);
}

static void check_name(const struct workload_facts *f, const char *want)
{
	check_names(f, want, want);
}

/* Of a pod in a crash loop, each container would be an application of its own. */
TEST(containers_of_a_pod_are_one_application_where_only_the_cgroup_is_known)
{
	struct workload_facts f = {.exe = "/bin/x", .comm = "x"};

	f.cgroup = (struct cgroup_path){CGROUP_KUBEPODS, ID, "1-2-3"};
	check_names(&f, "/kubepods/pod1-2-3", "/kubepods/0123456789ab");
	f.cgroup.kind = CGROUP_CONTAINERD;
	check_names(&f, "/kubepods/pod1-2-3", "/containerd/0123456789ab");
	f.cgroup = (struct cgroup_path){CGROUP_KUBEPODS, "pod1-2-3", "1-2-3"};
	check_name(&f, "/kubepods/pod1-2-3");
	f.cgroup = (struct cgroup_path){CGROUP_KUBEPODS, ID};
	check_name(&f, "/kubepods/0123456789ab");
	f.cgroup = (struct cgroup_path){CGROUP_KUBEPODS, ID, "1-2-3"};
	f.kernel_thread = true;
	check_name(&f, WORKLOAD_KERNEL);
}

TEST(containers_have_short_ids_and_units_their_names)
{
	struct workload_facts f = {.exe = "/bin/x", .comm = "x"};

	f.cgroup = (struct cgroup_path){CGROUP_DOCKER, ID};
	check_name(&f, "/docker/0123456789ab");
	f.cgroup.kind = CGROUP_CONTAINERD;
	check_name(&f, "/containerd/0123456789ab");
	f.cgroup.kind = CGROUP_CRIO;
	check_name(&f, "/crio/0123456789ab");
	f.cgroup = (struct cgroup_path){CGROUP_SYSTEMD, "/system.slice/cron.service"};
	check_name(&f, "/system.slice/cron.service");
	f.cgroup = (struct cgroup_path){CGROUP_LXC, "web"};
	check_name(&f, "/lxc/web");
	f.cgroup = (struct cgroup_path){CGROUP_TALOS, "apid"};
	check_name(&f, "/talos/apid");
}

/* It is in the container's cgroup before it executes what the container is made of. */
TEST(a_runtime_that_starts_a_container_is_not_the_container)
{
	struct workload_facts f = {.exe = "/memfd:runc_cloned:/proc/self/exe (deleted)"};

	f.cgroup = (struct cgroup_path){CGROUP_KUBEPODS, ID, "uid"};
	f.comm = "runc:[2:INIT]";
	check_name(&f, "/process/runc");
	f.exe = "/usr/sbin/runc";
	check_name(&f, "/process/runc");
	f.exe = "";
	check_name(&f, "/process/runc");
	f.comm = "youki:[2:INIT]";
	check_name(&f, "/process/youki");
	f.comm = "runc";
	check_names(&f, "/kubepods/poduid", "/kubepods/0123456789ab");
	/* a program of the container may call itself so */
	f.comm = "runc:[2:INIT]";
	f.exe = "/usr/bin/python3";
	check_names(&f, "/kubepods/poduid", "/kubepods/0123456789ab");
	f.exe = "/usr/sbin/runc";
	f.cgroup = (struct cgroup_path){CGROUP_SYSTEMD, "/system.slice/containerd.service"};
	check_name(&f, "/system.slice/containerd.service");
}

TEST(a_runtime_that_starts_a_container_is_of_the_unit_of_its_parent)
{
	const struct workload_facts f = {.exe = "/usr/sbin/runc",
					 .comm = "runc:[2:INIT]",
					 .cgroup = {CGROUP_CONTAINERD, ID, "uid"}};
	static const struct {
		const char *parent, *want;
	} cases[] = {
		{"0::/system.slice/containerd.service\n", "/system.slice/containerd.service"},
		{"0::/kubepods/podx/" ID "\n", "/process/runc"},
		{NULL, "/process/runc"},
	};
	struct fake_proc proc;

	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		CLEANUP(workload_unrefp) struct workload *w = NULL;
		AUTO_CLOSE int fd = -1;

		fake_proc_begin(&proc);
		fake_proc_start(&proc, 7, 1, "runc");
		fake_proc_put_file(&proc, "7/stat",
				   "7 (runc:[2:INIT]) S 5 7 7 0 -1 0 0 0 0 0 0 0 0 0 20 0 1 0 1 0 0"
				   " 0 0 0 0 0 0 0 0 0 0 0 0 0 17 0 0 0 0 0 0 0 0 0 0 0 0 0 0\n");
		if (cases[i].parent) {
			fake_proc_start(&proc, 5, 1, "shim");
			fake_proc_put_file(&proc, "5/cgroup", cases[i].parent);
		}
		fd = openat(proc.root_fd, "7", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
		assert_true(fd >= 0);
		assert_int_equal(workload_read_name(&w, fd, &f), 0);
		assert_string_equal(w->service, cases[i].want);
		fake_proc_end(&proc);
	}
}

TEST(everything_else_is_called_as_its_executable)
{
	struct workload_facts f = {.exe = "/usr/bin/python3.11", .comm = "worker"};

	check_name(&f, "/process/python3.11");
	f.exe = "/tmp/build/app (deleted)";
	check_name(&f, "/process/app");
	f.exe = "";
	check_name(&f, "/process/worker");
	f.comm = "a\nb";
	check_name(&f, "/process/a?b");
	/* names are printable text */
	f.comm = "g\xc3\xb6\xff\xc2\x9b[1m";
	check_name(&f, "/process/g\xc3\xb6???[1m");
	f.comm = "";
	check_name(&f, "/process/unknown");
	f.comm = NULL;
	check_name(&f, "/process/unknown");
	f.kernel_thread = true;
	check_name(&f, "/kernel");
}

TEST(no_name_is_too_long)
{
	char exe[4000];
	struct workload_facts f = {.exe = exe, .comm = "x"};
	struct workload *w;

	memset(exe, 'x', sizeof(exe) - 1);
	exe[0] = '/';
	exe[sizeof(exe) - 1] = '\0';
	assert_int_equal(workload_new(&w, &f), 0);
	assert_int_equal(strlen(w->service), strlen("/process/") + PROGRAM_NAME_BYTES - 1);
	workload_unref(w);
	for (size_t i = 1; i + 2 < sizeof(exe); i += 2)
		memcpy(exe + i, "\xc3\xb6", 2);
	assert_int_equal(workload_new(&w, &f), 0);
	assert_true(utf8_is_valid(w->service, strlen(w->service)));
	assert_in_range(strlen(w->service), strlen("/process/") + PROGRAM_NAME_BYTES - 2,
			strlen("/process/") + PROGRAM_NAME_BYTES - 1);
	workload_unref(w);
}

TEST(the_workload_of_a_process_is_read_from_its_folder)
{
	AUTO_CLOSE int self_fd = open("/proc/self", O_PATH | O_DIRECTORY | O_CLOEXEC);
	AUTO_CLOSE int other_fd = open("/proc", O_PATH | O_DIRECTORY | O_CLOEXEC);
	const struct workload_facts facts = {.comm = "x"}, named = {.exe = "/bin/y", .comm = "x"};
	CLEANUP(workload_unrefp) struct workload *w = NULL, *v = NULL;

	assert_int_equal(workload_read(&w, self_fd, &facts), 0);
	if (strncmp(w->service, "/process/", 9) == 0)
		assert_string_equal(w->service, "/process/test_workload");
	assert_int_equal(workload_read(&v, self_fd, &named), 0);
	if (strncmp(v->service, "/process/", 9) == 0)
		assert_string_equal(v->service, "/process/y");
	assert_int_equal(workload_read(&v, other_fd, &facts), -ESRCH);
}

TEST(workloads_are_the_same_by_service_and_container)
{
	const struct workload_facts one = {.exe = "/bin/a"}, two = {.exe = "/bin/b"};
	CLEANUP(workload_unrefp) struct workload *a = NULL, *b = NULL, *same = NULL;

	assert_int_equal(workload_new(&a, &one), 0);
	assert_int_equal(workload_new(&b, &two), 0);
	assert_int_equal(workload_new(&same, &one), 0);
	assert_int_equal(workload_compare(a, same), 0);
	assert_true(workload_compare(a, b) < 0);
	assert_true(workload_compare(b, a) > 0);
	same->container_id = "/docker/x";
	assert_true(workload_compare(a, same) != 0);
}

TEST(containers_have_the_ids_of_their_runtimes)
{
	struct workload_facts f = {.exe = "/bin/x"};
	CLEANUP(workload_unrefp) struct workload *w = NULL, *other = NULL, *unit = NULL;

	f.cgroup = (struct cgroup_path){CGROUP_KUBEPODS, ID, .pod_uid = "7a1c"};
	assert_int_equal(workload_new(&w, &f), 0);
	assert_int_equal(w->kind, CGROUP_KUBEPODS);
	assert_string_equal(w->runtime_id, ID);
	assert_string_equal(w->pod_uid, "7a1c");
	assert_string_equal(w->pod, "");
	assert_false(w->profiling_disabled);
	/* another one whose id begins alike */
	f.cgroup.id[CGROUP_CONTAINER_ID_LEN - 1] = '0';
	assert_int_equal(workload_new(&other, &f), 0);
	assert_string_equal(w->service, other->service);
	assert_true(workload_compare(w, other) != 0);

	f.cgroup = (struct cgroup_path){CGROUP_SYSTEMD, "/system.slice/cron.service"};
	assert_int_equal(workload_new(&unit, &f), 0);
	assert_string_equal(unit->runtime_id, "");
}

TEST(a_named_workload_keeps_its_ids)
{
	const struct workload_names names = {
		.service = "/k8s/shop/cart",
		.container_id = "/k8s/shop/cart-1/cart",
		.pod_uid = "8b2d",
		.namespace = "shop",
		.pod = "cart-1",
		.container = "cart",
		.profiling_disabled = true,
	};
	struct workload_facts f = {.exe = "/bin/x"};
	CLEANUP(workload_unrefp) struct workload *raw = NULL, *named = NULL;

	f.cgroup = (struct cgroup_path){CGROUP_KUBEPODS, ID, .pod_uid = "7a1c"};
	assert_int_equal(workload_new(&raw, &f), 0);
	assert_int_equal(workload_new_named(&named, raw, &names), 0);
	assert_int_equal(named->kind, CGROUP_KUBEPODS);
	assert_string_equal(named->runtime_id, ID);
	assert_string_equal(named->service, "/k8s/shop/cart");
	assert_string_equal(named->container_id, "/k8s/shop/cart-1/cart");
	assert_string_equal(named->pod_uid, "8b2d");
	assert_string_equal(named->namespace, "shop");
	assert_string_equal(named->pod, "cart-1");
	assert_string_equal(named->container, "cart");
	assert_string_equal(named->image, "");
	assert_true(named->profiling_disabled);
	assert_true(workload_compare(raw, named) != 0);
}

static int read_own(void *arg)
{
	const struct workload_facts facts = {.comm = "x"};
	CLEANUP(workload_unrefp) struct workload *w = NULL;

	return workload_read(&w, *(int *)arg, &facts);
}

TEST(survives_every_failed_allocation)
{
	AUTO_CLOSE int fd = open("/proc/self", O_PATH | O_DIRECTORY | O_CLOEXEC);

	check_oom(read_own, &fd);
}
