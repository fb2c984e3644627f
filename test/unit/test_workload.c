#include "common/text/utf8.h"
#include "node-agent/process/workload.h"
#include "test/lib/unit.h"

#define ID "0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef"

static void check_name(const struct workload_facts *f, const char *want)
{
	char name[WORKLOAD_NAME_BYTES];

	workload_name(f, name);
	assert_string_equal(name, want);
}

static void containers_have_short_ids_and_units_their_names(void **state)
{
	struct workload_facts f = {.exe = "/bin/x", .comm = "x"};

	(void)state;
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

static void everything_else_is_called_as_its_executable(void **state)
{
	struct workload_facts f = {.exe = "/usr/bin/python3.11", .comm = "worker"};

	(void)state;
	check_name(&f, "/process/python3.11");
	f.exe = "/tmp/build/app (deleted)";
	check_name(&f, "/process/app");
	f.exe = "";
	check_name(&f, "/process/worker");
	f.comm = "a\nb";
	check_name(&f, "/process/a?b");
	/* who is told the name wants text */
	f.comm = "g\xc3\xb6\xff\xc2\x9b[1m";
	check_name(&f, "/process/g\xc3\xb6???[1m");
	f.comm = "";
	check_name(&f, "/process/unknown");
	f.kernel_thread = true;
	check_name(&f, "/kernel");
}

static void no_name_is_too_long(void **state)
{
	char exe[4000];
	struct workload_facts f = {.exe = exe, .comm = "x"};
	char name[WORKLOAD_NAME_BYTES];

	(void)state;
	memset(exe, 'x', sizeof(exe) - 1);
	exe[0] = '/';
	exe[sizeof(exe) - 1] = '\0';
	workload_name(&f, name);
	assert_int_equal(strlen(name), WORKLOAD_NAME_BYTES - 1);
	for (size_t i = 1; i + 2 < sizeof(exe); i += 2)
		memcpy(exe + i, "\xc3\xb6", 2);
	workload_name(&f, name);
	assert_true(utf8_is_valid(name, strlen(name)));
	assert_in_range(strlen(name), WORKLOAD_NAME_BYTES - 2, WORKLOAD_NAME_BYTES - 1);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(containers_have_short_ids_and_units_their_names),
		cmocka_unit_test(everything_else_is_called_as_its_executable),
		cmocka_unit_test(no_name_is_too_long),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
