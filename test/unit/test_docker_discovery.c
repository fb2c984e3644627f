/* Docker's API over a unix socket, answered by whatever the test says at the moment. */
#include "cluster-agent/discover/docker_discovery.h"

#include <errno.h>
#include <pthread.h>
#include <stdatomic.h>
#include <sys/socket.h>
#include <sys/un.h>

#include "common/system/clock.h"
#include "test/lib/unit.h"

#define ID_A "aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa"
#define ID_B "bbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbb"
#define HEAD "HTTP/1.1 200 OK\r\nConnection: close\r\n"
#define OK HEAD "\r\n"
#define CONTAINER(id, name, port)                                             \
	"{\"Id\":\"" id "\",\"Names\":[\"/" name "\"],\"State\":\"running\"," \
	"\"Labels\":{\"coroot.com/profile-scrape\":\"true\","                 \
	"\"coroot.com/profile-port\":\"" port "\"},"                          \
	"\"NetworkSettings\":{\"Networks\":{\"n\":{\"IPAddress\":\"10.0.0.1\"}}}}"
#define A CONTAINER(ID_A, "a", "1")
#define B CONTAINER(ID_B, "b", "1")

struct fixture {
	const char *folder;
	char path[96];
	struct loop *loop;
	struct loop_source *timer;
	struct docker_discovery *discovery;
	bool (*until)(struct fixture *f);
	uint64_t deadline_ns;

	_Atomic(const char *) reply;
	atomic_uint n_requests;
	unsigned wanted; /* requests */
	int fd;          /* -1: no server */
	pthread_t thread;
	char request[256]; /* first bytes of the last one */

	unsigned n_upserts;
	int upsert_result;
	char log[512]; /* "+<service> " and "-<first of id> " */
};

/* ---- the server ---- */

static void serve_one(struct fixture *f, int fd)
{
	const char *reply = atomic_load(&f->reply);
	char request[4096];
	size_t len = 0;
	ssize_t n;

	while ((n = read(fd, request + len, sizeof(request) - 1 - len)) > 0) {
		len += (size_t)n;
		request[len] = '\0';
		if (strstr(request, "\r\n\r\n"))
			break;
	}
	if (n > 0) {
		snprintf(f->request, sizeof(f->request), "%.*s", 200, request);
		if (send(fd, reply, strlen(reply), MSG_NOSIGNAL) > 0)
			atomic_fetch_add(&f->n_requests, 1);
	}
	close(fd);
}

static void *serve(void *ctx)
{
	struct fixture *f = ctx;
	int fd;

	while ((fd = accept4(f->fd, NULL, NULL, SOCK_CLOEXEC)) >= 0)
		serve_one(f, fd);
	return NULL;
}

static void start_server(struct fixture *f)
{
	struct sockaddr_un addr = {.sun_family = AF_UNIX};

	snprintf(addr.sun_path, sizeof(addr.sun_path), "%s", f->path);
	f->fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
	assert_int_equal(bind(f->fd, (struct sockaddr *)&addr, sizeof(addr)), 0);
	assert_int_equal(listen(f->fd, 32), 0);
	assert_int_equal(pthread_create(&f->thread, NULL, serve, f), 0);
}

/* ---- the owner ---- */

static void add(struct fixture *f, char sign, const char *what)
{
	size_t len = strlen(f->log);

	snprintf(f->log + len, sizeof(f->log) - len, "%c%s ", sign, what);
}

static int on_upsert(void *ctx, const struct scrape_target *t)
{
	struct fixture *f = ctx;

	f->n_upserts++;
	if (f->upsert_result == 0)
		add(f, '+', t->service);
	return f->upsert_result;
}

static void on_remove(void *ctx, const char *uid)
{
	char first[] = {uid[strlen("docker/")], '\0'};

	add(ctx, '-', first);
}

static void poll_state(void *ctx)
{
	struct fixture *f = ctx;

	if (clock_monotonic_ns() > f->deadline_ns)
		fail_msg("nothing happens: %s", f->log);
	if (f->until(f))
		loop_stop(f->loop);
	else
		loop_set_timer(f->timer, NS_PER_MS);
}

static void run_until(struct fixture *f, bool (*until)(struct fixture *f))
{
	f->until = until;
	f->deadline_ns = clock_monotonic_ns() + 300 * NS_PER_S;
	loop_set_timer(f->timer, 0);
	assert_int_equal(loop_run(f->loop), 0);
}

static bool has_problem(struct fixture *f)
{
	return docker_discovery_problem(f->discovery)[0] != '\0';
}

static bool has_no_problem(struct fixture *f)
{
	return !has_problem(f);
}

static bool was_asked(struct fixture *f)
{
	return atomic_load(&f->n_requests) >= f->wanted;
}

/* The answer before the last one has been read then. */
static void ask_again(struct fixture *f)
{
	f->wanted = atomic_load(&f->n_requests) + 3;
	run_until(f, was_asked);
}

static void answer(struct fixture *f, const char *reply)
{
	atomic_store(&f->reply, reply);
	ask_again(f);
}

static int set_up(void **state)
{
	struct fixture *f = test_calloc(1, sizeof(*f));
	struct docker_discovery_config cfg = {
		.interval_ns = 5 * NS_PER_MS,
		.kinds = {[PROFILE_KIND_HEAP] = true},
		.ctx = f,
		.upsert = on_upsert,
		.remove = on_remove,
	};

	f->folder = temp_dir();
	snprintf(f->path, sizeof(f->path), "%s/docker.sock", f->folder);
	f->fd = -1;
	atomic_store(&f->reply, OK "[]");
	assert_int_equal(loop_new(&f->loop), 0);
	assert_int_equal(loop_add_timer(f->loop, poll_state, f, &f->timer), 0);
	cfg.loop = f->loop;
	cfg.socket = f->path;
	assert_int_equal(docker_discovery_new(&f->discovery, &cfg), 0);
	*state = f;
	return 0;
}

static int tear_down(void **state)
{
	struct fixture *f = *state;

	docker_discovery_free(f->discovery);
	if (f->fd >= 0) {
		shutdown(f->fd, SHUT_RDWR);
		pthread_join(f->thread, NULL);
		close(f->fd);
		unlink(f->path);
	}
	loop_remove(f->timer);
	loop_free(f->loop);
	assert_int_equal(rmdir(f->folder), 0);
	test_free(f);
	return 0;
}

/* ---- tests ---- */

TEST_FIXTURE(containers_appear_change_and_go, set_up, tear_down)
{
	struct fixture *f = *state;

	start_server(f);
	answer(f, OK "[" A "," B "]");
	assert_string_equal(f->log, "+/docker/a +/docker/b ");
	assert_memory_equal(f->request, "GET /containers/json HTTP/1.1\r\n", 31);
	answer(f, OK "[" CONTAINER(ID_A, "a", "2") "," B "]");
	assert_string_equal(f->log, "+/docker/a +/docker/b +/docker/a ");
	answer(f, OK "[" B "]");
	assert_string_equal(f->log, "+/docker/a +/docker/b +/docker/a -a ");
	assert_string_equal(docker_discovery_problem(f->discovery), "");
}

TEST_FIXTURE(podman_is_known_by_its_answer, set_up, tear_down)
{
	struct fixture *f = *state;

	start_server(f);
	answer(f, HEAD "Libpod-API-Version: 5.0.0\r\n\r\n[" A "]");
	assert_string_equal(f->log, "+/podman/a ");
}

TEST_FIXTURE(a_socket_that_is_absent_is_tried_again, set_up, tear_down)
{
	struct fixture *f = *state;
	char expected[160];

	run_until(f, has_problem);
	snprintf(expected, sizeof(expected), "%s: No such file or directory", f->path);
	assert_string_equal(docker_discovery_problem(f->discovery), expected);
	start_server(f);
	run_until(f, has_no_problem);
	answer(f, OK "[" A "]");
	assert_string_equal(f->log, "+/docker/a ");
}

static void check_kept(struct fixture *f, const char *reply, const char *why)
{
	char expected[160];

	answer(f, OK "[" A "]");
	answer(f, reply);
	snprintf(expected, sizeof(expected), "%s: %s", f->path, why);
	assert_string_equal(docker_discovery_problem(f->discovery), expected);
	assert_string_equal(f->log, "+/docker/a ");
}

TEST_FIXTURE(an_answer_of_no_use_leaves_the_targets, set_up, tear_down)
{
	struct fixture *f = *state;

	start_server(f);
	check_kept(f, OK "{}", "the answer is no list of containers");
	check_kept(f, "HTTP/1.1 403 Forbidden\r\nConnection: close\r\n\r\nno", "answered 403");
	check_kept(f, HEAD "Content-Length: 5000\r\n\r\n[", "Connection reset by peer");
	answer(f, OK "[]");
	assert_string_equal(f->log, "+/docker/a -a ");
	assert_string_equal(docker_discovery_problem(f->discovery), "");
}

TEST_FIXTURE(a_target_that_was_not_taken_in_is_passed_again, set_up, tear_down)
{
	struct fixture *f = *state;

	start_server(f);
	f->upsert_result = -ENOMEM;
	answer(f, OK "[" A "]");
	assert_true(f->n_upserts > 1);
	assert_true(has_problem(f));
	f->upsert_result = 0;
	ask_again(f);
	assert_string_equal(f->log, "+/docker/a ");
	assert_true(has_no_problem(f));
}

static int make_and_free(void *ctx)
{
	const struct docker_discovery_config cfg = {.loop = ctx, .socket = "/nowhere"};
	struct docker_discovery *d = NULL;
	int r = docker_discovery_new(&d, &cfg);

	docker_discovery_free(d);
	return r;
}

TEST(lack_of_memory_is_an_error)
{
	struct loop *loop;

	assert_int_equal(loop_new(&loop), 0);
	check_oom(make_and_free, loop);
	loop_free(loop);
}
