#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <sys/wait.h>

#include "node-agent/workload/profile_filter.h"
#include "test/lib/unit.h"

static struct profile_filter *new_filter(const char *allow, const char *deny)
{
	const struct profile_filter_config cfg = {.allowlist = allow, .denylist = deny};
	struct profile_filter *f = NULL;
	struct err err = {""};

	if (profile_filter_new(&f, &cfg, &err) < 0)
		fail_msg("%s", err.msg);
	return f;
}

static bool excludes(const struct profile_filter *f, const char *container_id)
{
	const struct workload w = {
		.kind = CGROUP_DOCKER, .service = container_id, .container_id = container_id};

	return profile_filter_excludes(f, &w);
}

TEST(without_lists_everything_is_profiled)
{
	CLEANUP(profile_filter_freep) struct profile_filter *f = new_filter(NULL, NULL);

	assert_false(excludes(f, "/docker/web"));
	assert_false(excludes(f, "/process/bash"));
	assert_false(excludes(NULL, "/docker/web"));
}

TEST(expressions_match_anywhere_in_the_container_id)
{
	CLEANUP(profile_filter_freep)
	struct profile_filter *f = new_filter(NULL, "/k8s/[^/]+/db-[0-9]+/\n^/docker/w(eb|orker)$");

	assert_true(excludes(f, "/k8s/shop/db-0/postgres"));
	assert_false(excludes(f, "/k8s/shop/web-0/postgres"));
	assert_true(excludes(f, "/docker/web"));
	assert_true(excludes(f, "/docker/worker"));
	assert_false(excludes(f, "/docker/web2"));
	assert_false(excludes(f, "/docker/"));
}

TEST(an_allowlist_excludes_the_rest)
{
	CLEANUP(profile_filter_freep)
	struct profile_filter *f = new_filter("^/k8s/shop/\ncron", NULL);

	assert_false(excludes(f, "/k8s/shop/web-0/nginx"));
	assert_false(excludes(f, "/system.slice/cron.service"));
	assert_true(excludes(f, "/k8s/shopping/web-0/nginx"));
	assert_true(excludes(f, "/process/bash"));
}

TEST(deny_wins)
{
	CLEANUP(profile_filter_freep) struct profile_filter *f = new_filter("/shop/", "/db-");

	assert_false(excludes(f, "/k8s/shop/web-0/nginx"));
	assert_true(excludes(f, "/k8s/shop/db-0/postgres"));
	assert_true(excludes(f, "/k8s/other/db-0/postgres"));
}

TEST(empty_lines_match_nothing)
{
	CLEANUP(profile_filter_freep) struct profile_filter *f = new_filter("\n\n", "\n");

	assert_false(excludes(f, "/docker/web"));
}

TEST(a_pod_can_ask_not_to_be_profiled)
{
	CLEANUP(profile_filter_freep) struct profile_filter *f = new_filter("web", NULL);
	const struct workload w = {.kind = CGROUP_KUBEPODS,
				   .profiling_disabled = true,
				   .service = "/k8s/shop/web",
				   .container_id = "/k8s/shop/web-0/nginx"};

	assert_true(profile_filter_excludes(f, &w));
}

TEST(bare_processes_can_be_excluded_but_not_the_kernel)
{
	CLEANUP(profile_filter_freep) struct profile_filter *f = NULL;
	const struct profile_filter_config cfg = {.no_unmanaged = true};
	struct workload w = {.kind = CGROUP_NONE, .container_id = "/process/bash"};

	assert_int_equal(profile_filter_new(&f, &cfg, NULL), 0);
	assert_true(profile_filter_excludes(f, &w));
	w.container_id = WORKLOAD_KERNEL;
	assert_false(profile_filter_excludes(f, &w));
	w = (struct workload){.kind = CGROUP_SYSTEMD, .container_id = "/system.slice/x.service"};
	assert_false(profile_filter_excludes(f, &w));
}

TEST(a_bad_expression_is_named)
{
	struct profile_filter *f = NULL;
	struct err err = {""};

	assert_int_equal(profile_filter_new(
				 &f, &(struct profile_filter_config){.denylist = "ok\n(web"}, &err),
			 -EINVAL);
	assert_non_null(strstr(err.msg, "--container-denylist: \"(web\""));
	assert_null(strchr(err.msg, '\n'));
}

static int make_filter(void *ctx)
{
	const struct profile_filter_config cfg = {.allowlist = "a\nb", .denylist = "c"};
	struct profile_filter *f = NULL;
	int r = profile_filter_new(&f, &cfg, NULL);

	(void)ctx;
	profile_filter_free(f);
	return r;
}

TEST(it_survives_a_lack_of_memory)
{
	check_oom(make_filter, NULL);
}

#define ENVIRON(text) profile_filter_environ_excludes(text, sizeof(text) - 1)

TEST(the_variable_in_the_environment_counts)
{
	assert_true(ENVIRON("A=1\0COROOT_EBPF_PROFILING=disabled\0B=2"));
	assert_true(ENVIRON("COROOT_EBPF_PROFILING=disabled"));
	assert_false(ENVIRON("COROOT_EBPF_PROFILING=enabled\0"));
	assert_false(ENVIRON("COROOT_EBPF_PROFILING="));
	assert_false(ENVIRON("XCOROOT_EBPF_PROFILING=disabled\0"));
	assert_false(ENVIRON("A=COROOT_EBPF_PROFILING=disabled\0"));
	assert_false(ENVIRON("COROOT_EBPF_PROFILING=\0disabled\0"));
	assert_false(ENVIRON(""));
}

TEST(the_environment_of_a_process_is_read)
{
	char *const env[] = {(char[]){"COROOT_EBPF_PROFILING=disabled"}, NULL};
	AUTO_CLOSE int self = open("/proc/self", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	char path[64];
	int fd, r = 0;
	pid_t pid;

	assert_int_equal(profile_filter_read_environ(self), 0);
	pid = fork();
	if (pid == 0) {
		execle("/bin/sleep", "sleep", "300", (char *)NULL, env);
		_exit(1);
	}
	snprintf(path, sizeof(path), "/proc/%d", (int)pid);
	fd = open(path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	assert_true(fd >= 0);
	for (int i = 0; i < 12000 && r != 1; i++) { /* until it has executed sleep */
		r = profile_filter_read_environ(fd);
		usleep(5000);
	}
	assert_int_equal(r, 1);
	kill(pid, SIGKILL);
	waitpid(pid, NULL, 0);
	assert_true(profile_filter_read_environ(fd) < 0);
	close(fd);
}

/*
 * In the middle of execve(2) a process has memory without an environment. What a reader sees then
 * must not count as an environment without the variable.
 */
TEST(a_process_that_is_executing_a_program_is_not_judged)
{
	char *const env[] = {(char[]){"COROOT_EBPF_PROFILING=disabled"}, NULL};
	unsigned n_judged = 0;

	for (int i = 0; i < 100; i++) {
		char path[64];
		pid_t pid = fork();
		int fd, r;

		if (pid == 0) {
			/* a program that does so again, so that all have the variable */
			execle("/bin/sh", "sh", "-c", "exec sh -c 'exec true'", (char *)NULL, env);
			_exit(1);
		}
		snprintf(path, sizeof(path), "/proc/%d", (int)pid);
		fd = open(path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
		assert_true(fd >= 0);
		while (profile_filter_read_environ(fd) == 0) /* ours */
			;
		while (waitpid(pid, NULL, WNOHANG) == 0) {
			r = profile_filter_read_environ(fd);
			assert_int_not_equal(r, 0);
			n_judged += r == 1;
		}
		close(fd);
	}
	assert_true(n_judged > 0);
}
