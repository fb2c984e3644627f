#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>

#include "common/system/clock.h"
#include "node-agent/container/runtime_sockets.h"
#include "test/lib/unit.h"

struct fixture {
	const char *root;
	struct loop *loop;
	struct runtime_sockets *sockets;
	struct loop_source *limit;
	unsigned n_found, n_wanted, n_refusals;
	struct runtime_socket found[RUNTIME_SOCKETS_MAX];
};

static void shell(const char *fmt, ...) PRINTF_LIKE(1, 2);

static void shell(const char *fmt, ...)
{
	char command[PATH_MAX];
	va_list args;

	va_start(args, fmt);
	vsnprintf(command, sizeof(command), fmt, args);
	va_end(args);
	assert_int_equal(system(command), 0);
}

/* Listens at root/path; closing the descriptor leaves the file. */
static int listen_at(const struct fixture *f, const char *path)
{
	struct sockaddr_un addr = {.sun_family = AF_UNIX};
	int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);

	shell("mkdir -p $(dirname %s%s)", f->root, path);
	snprintf(addr.sun_path, sizeof(addr.sun_path), "%s%s", f->root, path);
	unlink(addr.sun_path);
	assert_int_equal(bind(fd, (struct sockaddr *)&addr, sizeof(addr)), 0);
	assert_int_equal(listen(fd, 8), 0);
	return fd;
}

static bool connects(const char *path)
{
	struct sockaddr_un addr = {.sun_family = AF_UNIX};
	AUTO_CLOSE int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);

	snprintf(addr.sun_path, sizeof(addr.sun_path), "%s", path);
	return connect(fd, (struct sockaddr *)&addr, sizeof(addr)) == 0;
}

static int on_found(void *ctx, const struct runtime_socket *s)
{
	struct fixture *f = ctx;

	if (f->n_refusals > 0) {
		f->n_refusals--;
		return -ENOMEM;
	}
	f->found[f->n_found++] = *s;
	if (f->n_found == f->n_wanted)
		loop_stop(f->loop);
	return 0;
}

static void on_limit(void *ctx)
{
	(void)ctx;
	fail_msg("sockets were not found");
}

static int set_up(void **state)
{
	struct fixture *f = test_calloc(1, sizeof(*f));

	f->root = temp_dir();
	assert_int_equal(loop_new(&f->loop), 0);
	assert_int_equal(loop_add_timer(f->loop, on_limit, f, &f->limit), 0);
	loop_set_timer(f->limit, 300 * NS_PER_S);
	*state = f;
	return 0;
}

static int tear_down(void **state)
{
	struct fixture *f = *state;

	runtime_sockets_free(f->sockets);
	loop_free(f->loop);
	shell("rm -rf %s", f->root);
	test_free(f);
	return 0;
}

static void start(struct fixture *f, const char *cri_socket)
{
	const struct runtime_sockets_config cfg = {
		.loop = f->loop,
		.host_root = f->root,
		.cri_socket = cri_socket,
		.interval_ns = 10 * NS_PER_MS,
		.found = on_found,
		.ctx = f,
	};

	assert_int_equal(runtime_sockets_new(&f->sockets, &cfg), 0);
}

static void wait_for(struct fixture *f, unsigned n)
{
	f->n_wanted = n;
	if (f->n_found < n)
		assert_int_equal(loop_run(f->loop), 0);
	assert_int_equal(f->n_found, n);
}

TEST_FIXTURE(sockets_are_found_when_they_appear, set_up, tear_down)
{
	struct fixture *f = *state;
	AUTO_CLOSE int docker = listen_at(f, "/run/docker.sock");
	AUTO_CLOSE int crio = -1;

	start(f, NULL);
	wait_for(f, 1);
	assert_string_equal(f->found[0].runtime, "docker");
	assert_int_equal(f->found[0].api, RUNTIME_API_DOCKER);
	assert_string_equal(f->found[0].path, "/run/docker.sock");
	assert_false(f->found[0].users);
	assert_true(connects(f->found[0].connect));

	crio = listen_at(f, "/run/crio/crio.sock");
	wait_for(f, 2);
	assert_string_equal(f->found[1].runtime, "cri-o");
	assert_int_equal(f->found[1].api, RUNTIME_API_CRI);
	assert_true(connects(f->found[1].connect));
}

TEST_FIXTURE(a_restarted_runtime_is_reached_by_the_same_path, set_up, tear_down)
{
	struct fixture *f = *state;
	int first = listen_at(f, "/run/containerd/containerd.sock");
	AUTO_CLOSE int second = -1;

	start(f, NULL);
	wait_for(f, 1);
	close(first);
	assert_false(connects(f->found[0].connect));
	second = listen_at(f, "/run/containerd/containerd.sock");
	eventually(connects(f->found[0].connect));
}

TEST_FIXTURE(links_lead_into_the_hosts_root, set_up, tear_down)
{
	struct fixture *f = *state;
	AUTO_CLOSE int docker = listen_at(f, "/data/docker.sock");
	AUTO_CLOSE int podman = -1;

	/* an absolute link, and one that would leave the root: both end inside it */
	shell("mkdir -p %s/run && ln -s /data/docker.sock %s/run/docker.sock", f->root, f->root);
	podman = listen_at(f, "/data/podman.sock");
	shell("mkdir -p %s/run/podman", f->root);
	shell("ln -s ../../../../../../data/podman.sock %s/run/podman/podman.sock", f->root);
	start(f, NULL);
	wait_for(f, 2);
	assert_string_equal(f->found[0].runtime, "docker");
	assert_true(connects(f->found[0].connect));
	assert_string_equal(f->found[1].runtime, "podman");
	assert_true(connects(f->found[1].connect));
}

TEST_FIXTURE(one_socket_with_two_paths_is_found_once, set_up, tear_down)
{
	struct fixture *f = *state;
	AUTO_CLOSE int docker = listen_at(f, "/run/docker.sock");
	AUTO_CLOSE int podman = listen_at(f, "/run/podman/podman.sock");

	/* the second path to docker.sock is tried before podman's */
	shell("mkdir -p %s/var", f->root);
	shell("ln -s /run %s/var/run", f->root);
	start(f, NULL);
	wait_for(f, 2);
	assert_string_equal(f->found[0].path, "/run/docker.sock");
	assert_string_equal(f->found[1].path, "/run/podman/podman.sock");
}

TEST_FIXTURE(sockets_of_users_must_be_theirs, set_up, tear_down)
{
	struct fixture *f = *state;
	AUTO_CLOSE int own = listen_at(f, "/run/user/1234/docker.sock");
	AUTO_CLOSE int of_root = listen_at(f, "/run/user/1235/docker.sock");
	AUTO_CLOSE int podman = listen_at(f, "/run/user/1236/podman/podman.sock");
	AUTO_CLOSE int target = listen_at(f, "/run/user/1236/mine.sock");

	shell("chown 1234 %s%s", f->root, "/run/user/1234/docker.sock");
	shell("chown 1236 %s/run/user/1236/podman/podman.sock", f->root);
	shell("chown 1236 %s/run/user/1236/mine.sock", f->root);
	shell("ln -s mine.sock %s/run/user/1236/docker.sock", f->root);
	start(f, NULL);
	wait_for(f, 2);
	for (unsigned i = 0; i < 2; i++) {
		bool docker = strcmp(f->found[i].runtime, "docker") == 0;

		assert_true(f->found[i].users);
		assert_string_equal(f->found[i].path, docker ? "/run/user/1234/docker.sock"
							     : "/run/user/1236/podman/podman.sock");
	}
}

TEST_FIXTURE(a_configured_socket_is_the_only_one_of_cri, set_up, tear_down)
{
	struct fixture *f = *state;
	AUTO_CLOSE int containerd = listen_at(f, "/run/containerd/containerd.sock");
	AUTO_CLOSE int docker = listen_at(f, "/run/docker.sock");
	AUTO_CLOSE int own = listen_at(f, "/own.sock");

	start(f, "unix:///own.sock");
	wait_for(f, 2);
	assert_string_equal(f->found[0].path, "/own.sock");
	assert_string_equal(f->found[0].runtime, "cri");
	assert_string_equal(f->found[1].runtime, "docker");
}

TEST_FIXTURE(a_configured_socket_may_be_outside_the_hosts_root, set_up, tear_down)
{
	struct fixture *f = *state;
	AUTO_CLOSE int own = listen_at(f, "/own.sock");
	char path[128];

	snprintf(path, sizeof(path), "%s/own.sock", f->root);
	start(f, path);
	wait_for(f, 1);
	assert_string_equal(f->found[0].path, path);
	assert_true(connects(f->found[0].connect));
}

TEST_FIXTURE(bad_values_are_refused_with_one_line, set_up, tear_down)
{
	static const char *const bad[] = {"",        "/",        "x.sock", "tcp://1.2.3.4:5",
					  "unix://", "unix://x", "/run/",  "/file"};
	const struct fixture *f = *state;
	AUTO_CLOSE int own = listen_at(f, "/own.sock");
	char large[1000];

	shell("touch %s%s", f->root, "/file");
	for (size_t i = 0; i < ARRAY_SIZE(bad); i++) {
		struct err err = {""};

		assert_int_equal(runtime_sockets_check(bad[i], f->root, &err), -EINVAL);
		assert_non_null(strstr(err.msg, "--cri-socket"));
		assert_null(strchr(err.msg, '\n'));
	}
	memset(large, '/', sizeof(large));
	memcpy(large + sizeof(large) - 2, "x", 2);
	assert_int_equal(runtime_sockets_check(large, f->root, NULL), -EINVAL);
	assert_int_equal(runtime_sockets_check("/own.sock", f->root, NULL), 0);
	assert_int_equal(runtime_sockets_check("unix:///own.sock", f->root, NULL), 0);
	assert_int_equal(runtime_sockets_check("/later.sock", f->root, NULL), 0);
}

TEST_FIXTURE(a_socket_that_cannot_be_used_yet_is_offered_again, set_up, tear_down)
{
	struct fixture *f = *state;
	AUTO_CLOSE int docker = listen_at(f, "/run/docker.sock");
	AUTO_CLOSE int podman = listen_at(f, "/run/podman/podman.sock");

	f->n_refusals = 3;
	start(f, NULL);
	wait_for(f, 2);
	assert_int_equal(f->n_refusals, 0);
	assert_string_equal(f->found[0].runtime, "docker");
	assert_string_equal(f->found[1].runtime, "podman");
}

TEST_FIXTURE(a_missing_root_has_no_sockets, set_up, tear_down)
{
	struct fixture *f = *state;
	const struct runtime_sockets_config cfg = {
		.loop = f->loop, .host_root = "/does/not/exist", .found = on_found, .ctx = f};

	assert_int_equal(runtime_sockets_new(&f->sockets, &cfg), 0);
	runtime_sockets_free(f->sockets);
	f->sockets = NULL;
	assert_int_equal(f->n_found, 0);
}
