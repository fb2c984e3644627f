/* Docker's API over a unix socket, answered by a table of replies. */
#include <errno.h>
#include <pthread.h>
#include <stdatomic.h>
#include <sys/socket.h>
#include <sys/un.h>

#include "common/system/clock.h"
#include "node-agent/container/docker_source.h"
#include "test/lib/unit.h"

#define ID_A "aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa"
#define ID_B "bbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbb"
#define ALLOC "01234567-89ab-cdef-0123-456789abcdef"
#define OK "HTTP/1.1 200 OK\r\nConnection: close\r\n\r\n"

/* The reply of requests whose first line contains a text; NULL: none, until the client leaves. */
struct reply {
	const char *request;
	const char *reply;
	bool hold; /* keep the connection open after it */
};

struct fixture {
	const char *folder;
	char path[96];
	struct loop *loop;
	struct loop_source *limit;
	struct docker_source *source;

	const struct reply *replies; /* the last one has no request */
	int fd;
	pthread_t thread;
	int held[32];
	unsigned n_held;
	atomic_uint n_requests;
	atomic_uint n_lists;

	unsigned n_done, n_found, n_wanted;
	int error;
	bool any_pod;
	char last_request[65]; /* id of the last container that was asked for alone */
	char found[2048];      /* "<first of id> <name> <path>\n" each */
};

/* ---- the server ---- */

static void serve_one(struct fixture *f, int fd)
{
	char request[32768];
	size_t len = 0;
	ssize_t n;
	const struct reply *r = f->replies;

	while ((n = read(fd, request + len, sizeof(request) - 1 - len)) > 0) {
		len += (size_t)n;
		request[len] = '\0';
		if (strstr(request, "\r\n\r\n"))
			break;
	}
	(void)sscanf(request, "GET /containers/%64[0-9a-f]/", f->last_request);
	atomic_fetch_add(&f->n_requests, 1);
	if (strstr(request, "GET /containers/json?"))
		atomic_fetch_add(&f->n_lists, 1);
	while (r->request && !strstr(request, r->request))
		r++;
	if (r->reply && write(fd, r->reply, strlen(r->reply)) < 0)
		r = NULL;
	if (r && (r->hold || !r->reply))
		f->held[f->n_held++] = fd;
	else
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

static int set_up(void **state)
{
	struct fixture *f = test_calloc(1, sizeof(*f));
	struct sockaddr_un addr = {.sun_family = AF_UNIX};

	f->folder = temp_dir();
	snprintf(f->path, sizeof(f->path), "%s/docker.sock", f->folder);
	snprintf(addr.sun_path, sizeof(addr.sun_path), "%s", f->path);
	f->fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
	assert_int_equal(bind(f->fd, (struct sockaddr *)&addr, sizeof(addr)), 0);
	assert_int_equal(listen(f->fd, 32), 0);
	assert_int_equal(loop_new(&f->loop), 0);
	*state = f;
	return 0;
}

static int tear_down(void **state)
{
	struct fixture *f = *state;

	docker_source_ops.free(f->source);
	shutdown(f->fd, SHUT_RDWR);
	if (f->replies)
		pthread_join(f->thread, NULL);
	close(f->fd);
	for (unsigned i = 0; i < f->n_held; i++)
		close(f->held[i]);
	loop_free(f->loop);
	unlink(f->path);
	assert_int_equal(rmdir(f->folder), 0);
	test_free(f);
	return 0;
}

/* ---- the directory ---- */

static void on_found(void *ctx, const struct container_facts *facts)
{
	struct fixture *f = ctx;
	size_t len = strlen(f->found);

	snprintf(f->found + len, sizeof(f->found) - len, "%.1s %s %s\n", facts->id,
		 facts->name ? facts->name : "-", facts->path ? facts->path : "-");
	f->any_pod |= facts->pod != NULL;
	if (++f->n_found == f->n_wanted)
		loop_stop(f->loop);
}

static void on_done(void *ctx, int error)
{
	struct fixture *f = ctx;

	f->n_done++;
	f->error = error;
	loop_stop(f->loop);
}

static void on_limit(void *ctx)
{
	(void)ctx;
	fail_msg("no answer");
}

static void start(struct fixture *f, const struct reply *replies, bool on_demand, bool untrusted)
{
	const struct docker_source_config cfg = {
		.loop = f->loop,
		.socket = f->path,
		.sink = {on_found, f},
		.on_demand = on_demand,
		.untrusted = untrusted,
	};

	f->replies = replies;
	assert_int_equal(pthread_create(&f->thread, NULL, serve, f), 0);
	assert_int_equal(docker_source_new(&f->source, &cfg), 0);
	assert_int_equal(loop_add_timer(f->loop, on_limit, f, &f->limit), 0);
	loop_set_timer(f->limit, 300 * NS_PER_S);
}

/* The same daemon, but a source of its own. */
static void restart(struct fixture *f, bool untrusted)
{
	const struct docker_source_config cfg = {
		.loop = f->loop,
		.socket = f->path,
		.sink = {on_found, f},
		.on_demand = true,
		.untrusted = untrusted,
	};

	docker_source_ops.free(f->source);
	f->source = NULL;
	assert_int_equal(docker_source_new(&f->source, &cfg), 0);
}

static int ask(struct fixture *f, const char *const *ids, size_t n)
{
	const struct container_question q = {ids, NULL, n};
	unsigned before = f->n_done;

	assert_int_equal(docker_source_ops.ask(f->source, &q, on_done, f), 0);
	assert_int_equal(f->n_done, before);
	assert_int_equal(docker_source_ops.ask(f->source, &q, on_done, f), -EBUSY);
	while (f->n_done == before)
		assert_int_equal(loop_run(f->loop), 0);
	assert_int_equal(f->n_done, before + 1);
	return f->error;
}

/* Asks about ID_A, ID_B and so many others that a list is asked for. */
static int ask_many(struct fixture *f)
{
	char others[100][65];
	const char *ids[102] = {ID_A, ID_B};

	for (size_t i = 0; i < 100; i++) {
		snprintf(others[i], sizeof(others[i]), "%064zx", i);
		ids[i + 2] = others[i];
	}
	return ask(f, ids, ARRAY_SIZE(ids));
}

TEST_FIXTURE(one_list_names_all_that_are_asked_for, set_up, tear_down)
{
	static const struct reply replies[] = {{"/containers/json?all=true",
						OK "[{\"Id\":\"" ID_A "\",\"Names\":[\"/web\"]},"
						   "{\"Id\":\"" ID_B "\",\"Names\":[\"/db\"]}]",
						false},
					       {0}};
	struct fixture *f = *state;

	start(f, replies, true, false);
	assert_int_equal(ask_many(f), 0);
	assert_string_equal(f->found, "a web -\nb db -\n");
	assert_int_equal(f->n_lists, 1);
}

TEST_FIXTURE(a_few_are_asked_for_one_by_one, set_up, tear_down)
{
	static const struct reply replies[] = {
		{"/containers/" ID_A "/json",
		 OK "{\"Id\":\"" ID_A "\",\"Name\":\"/web\",\"Config\":{}}", false},
		{"/containers/" ID_B "/json",
		 OK "{\"Id\":\"" ID_B "\",\"Name\":\"/db\",\"Config\":{}}", false},
		{0}};
	static const char *const ids[] = {ID_A, "no id", ID_B}, *const none[] = {"no id"};
	struct fixture *f = *state;

	start(f, replies, true, true);
	assert_int_equal(ask(f, ids, 3), 0);
	assert_string_equal(f->found, "a web -\nb db -\n");
	assert_int_equal(f->n_lists, 0);
	assert_int_equal(ask(f, none, 1), 0);
	assert_int_equal(f->n_requests, 2);
}

TEST_FIXTURE(what_was_not_asked_for_is_not_passed_on, set_up, tear_down)
{
	static const struct reply replies[] = {
		{"/containers/" ID_A "/json",
		 OK "{\"Id\":\"" ID_B "\",\"Name\":\"/fake\",\"Config\":{}}", false},
		{0}};
	static const char *const ids[] = {ID_A};
	struct fixture *f = *state;

	start(f, replies, false, true);
	assert_int_equal(ask(f, ids, 1), 0);
	assert_string_equal(f->found, "");
	/* nor are events followed */
	assert_int_equal(f->n_requests, 1);
}

TEST_FIXTURE(a_nomad_job_is_asked_for_alone, set_up, tear_down)
{
	static const struct reply replies[] = {
		{"/containers/json",
		 OK "[{\"Id\":\"" ID_A "\",\"Names\":[\"/t-" ALLOC "\"]},"
		    "{\"Id\":\"" ID_B "\",\"Names\":[\"/db\"]}]",
		 false},
		{"/containers/" ID_A "/json",
		 OK "{\"Id\":\"" ID_A "\",\"Name\":\"/t-" ALLOC "\",\"Config\":{\"Env\":["
		    "\"NOMAD_NAMESPACE=n\",\"NOMAD_JOB_NAME=j\",\"NOMAD_GROUP_NAME=g\","
		    "\"NOMAD_ALLOC_ID=a\",\"NOMAD_TASK_NAME=t\"]}}",
		 false},
		{0}};
	struct fixture *f = *state;

	start(f, replies, true, false);
	assert_int_equal(ask_many(f), 0);
	assert_string_equal(f->found, "b db -\na t-" ALLOC " /nomad/n/j/g/a/t\n");
}

TEST_FIXTURE(a_list_that_cannot_be_read_does_not_hide_the_others, set_up, tear_down)
{
	static const struct reply replies[] = {
		{"/containers/json", OK "[{\"Id\":\"" ID_A "\",\"Labels\":{\"\\u0000\":\"\"}}]",
		 false},
		{"/containers/" ID_A "/json", OK "garbage", false},
		{"/containers/" ID_B "/json",
		 OK "{\"Id\":\"" ID_B "\",\"Name\":\"/db\",\"Config\":{}}", false},
		{"/containers/0", "HTTP/1.1 404 Not Found\r\nConnection: close\r\n\r\n{}", false},
		{0}};
	struct fixture *f = *state;

	start(f, replies, true, false);
	assert_int_equal(ask_many(f), -EBADMSG);
	assert_string_equal(f->found, "b db -\n");
	assert_int_equal(f->n_lists, 1);
}

TEST_FIXTURE(a_users_daemon_is_not_asked_for_lists, set_up, tear_down)
{
	static const struct reply replies[] = {
		{"/containers/" ID_B "/json",
		 OK "{\"Id\":\"" ID_B "\",\"Name\":\"/db\",\"Config\":{}}", false},
		{"/containers/", "HTTP/1.1 404 Not Found\r\nConnection: close\r\n\r\n{}", false},
		{0}};
	struct fixture *f = *state;

	start(f, replies, true, true);
	assert_int_equal(ask_many(f), 0);
	assert_string_equal(f->found, "b db -\n");
	assert_int_equal(f->n_lists, 0);
}

/* Labels are what a user likes. */
TEST_FIXTURE(a_users_container_cannot_pose_as_a_pod, set_up, tear_down)
{
	static const struct reply replies[] = {
		{"/containers/" ID_A "/json",
		 OK "{\"Id\":\"" ID_A "\",\"Name\":\"/web\",\"Config\":{\"Labels\":{"
		    "\"io.kubernetes.pod.name\":\"pay-0\",\"io.kubernetes.pod.namespace\":\"shop\","
		    "\"io.kubernetes.container.name\":\"pay\","
		    "\"com.docker.swarm.service.name\":\"pay\","
		    "\"com.docker.swarm.task.name\":\"pay.1.x\"}}}",
		 false},
		{0}};
	static const char *const ids[] = {ID_A};
	struct fixture *f = *state;

	start(f, replies, true, true);
	assert_int_equal(ask(f, ids, 1), 0);
	assert_string_equal(f->found, "a web -\n");
	assert_false(f->any_pod);
}

/* The answer about one container must not be long, least of all a user's. */
TEST_FIXTURE(a_long_answer_is_refused, set_up, tear_down)
{
	static const size_t limits[] = {256 * 1024, 64 * 1024};
	static const char *const ids[] = {ID_A, ID_B};
	struct fixture *f = *state;
	char *text = test_calloc(1, 300 * 1024);
	const struct reply replies[] = {{"/containers/" ID_A "/json", text, false},
					{"/containers/" ID_B "/json",
					 OK "{\"Id\":\"" ID_B "\",\"Name\":\"/db\",\"Config\":{}}",
					 false},
					{0}};

	for (size_t i = 0; i < ARRAY_SIZE(limits); i++) {
		f->found[0] = '\0';
		snprintf(text, 300 * 1024,
			 OK "{\"Id\":\"" ID_A "\",\"Name\":\"/web\",\"Config\":{}}%*s",
			 (int)limits[i], "");
		if (i == 0)
			start(f, replies, true, false);
		else
			restart(f, true);
		assert_int_equal(ask(f, ids, 2), -EFBIG);
		assert_string_equal(f->found, "b db -\n");
	}
	docker_source_ops.free(f->source);
	f->source = NULL;
	test_free(text);
}

TEST_FIXTURE(one_container_does_not_keep_others_from_their_names, set_up, tear_down)
{
	static const struct reply replies[] = {
		{"/containers/" ID_A "/json", NULL, false},
		{"/containers/" ID_B "/json",
		 OK "{\"Id\":\"" ID_B "\",\"Name\":\"/db\",\"Config\":{}}", false},
		{"/containers/0",
		 "HTTP/1.1 500 x\r\nConnection: close\r\nContent-Length: 0\r\n\r\n", false},
		{0}};
	static const char *const ids[] = {ID_A, ID_B};
	static const char *const with_500[] = {
		"0000000000000000000000000000000000000000000000000000000000000000", ID_B};
	struct fixture *f = *state;

	start(f, replies, true, true);
	assert_int_equal(ask(f, ids, 2), -ETIMEDOUT);
	assert_string_equal(f->found, "b db -\n");
	/* the next question begins behind it */
	f->found[0] = '\0';
	assert_int_equal(ask(f, ids, 2), -ETIMEDOUT);
	assert_string_equal(f->found, "b db -\n");
	assert_int_equal(f->n_requests, 4);
	assert_string_equal(f->last_request, ID_A);

	f->found[0] = '\0';
	assert_int_equal(ask(f, with_500, 2), -EBADMSG);
	assert_string_equal(f->found, "b db -\n");
}

TEST_FIXTURE(a_container_that_is_gone_is_unknown, set_up, tear_down)
{
	static const struct reply replies[] = {
		{"/containers/" ID_A "/json",
		 "HTTP/1.1 404 Not Found\r\nConnection: close\r\n\r\n{}", false},
		{0}};
	static const char *const ids[] = {ID_A};
	struct fixture *f = *state;

	start(f, replies, true, true);
	assert_int_equal(ask(f, ids, 1), 0);
	assert_string_equal(f->found, "");
}

TEST_FIXTURE(other_answers_fail, set_up, tear_down)
{
	static const struct reply replies[] = {
		{"/containers/json",
		 "HTTP/1.1 404 Not Found\r\nConnection: close\r\n\r\npage not found", false},
		{0}};
	struct fixture *f = *state;

	start(f, replies, true, false);
	assert_int_equal(ask_many(f), -EBADMSG);
	assert_int_equal(ask_many(f), -EBADMSG);
}

TEST_FIXTURE(a_daemon_that_hangs_is_given_up, set_up, tear_down)
{
	static const struct reply replies[] = {{"/containers/", NULL, true}, {0}};
	static const char *const ids[] = {ID_A};
	struct fixture *f = *state;

	start(f, replies, true, true);
	assert_int_equal(ask(f, ids, 1), -ETIMEDOUT);
}

TEST_FIXTURE(a_request_under_way_ends_with_the_source, set_up, tear_down)
{
	static const struct reply replies[] = {{"/containers/", NULL, true}, {0}};
	static const char *const ids[] = {ID_A};
	static const struct container_question q = {ids, NULL, 1};
	struct fixture *f = *state;

	start(f, replies, true, true);
	assert_int_equal(docker_source_ops.ask(f->source, &q, on_done, f), 0);
	docker_source_ops.free(f->source);
	f->source = NULL;
	assert_int_equal(f->n_done, 0);
}

#define EVENT(id, name)                                                        \
	"{\"Type\":\"container\",\"Action\":\"start\",\"Actor\":{\"ID\":\"" id \
	"\",\"Attributes\":{\"name\":\"" name "\"}}}\n"

TEST_FIXTURE(events_name_containers_before_anyone_asks, set_up, tear_down)
{
	static const struct reply replies[] = {
		{"GET /events?filters=%7B%22type%22%3A%5B%22container%22%5D",
		 OK EVENT(ID_A, "short") EVENT(ID_B, "t-" ALLOC) EVENT(ID_B, "long"), true},
		{0}};
	struct fixture *f = *state;

	start(f, replies, false, false);
	f->n_wanted = 2;
	assert_int_equal(loop_run(f->loop), 0);
	/* the name of a Nomad job is not in the event */
	assert_string_equal(f->found, "a short -\nb long -\n");
}

TEST_FIXTURE(a_stream_of_events_that_ends_is_resumed, set_up, tear_down)
{
	static const struct reply replies[] = {{"GET /events", OK EVENT(ID_A, "a"), false}, {0}};
	struct fixture *f = *state;

	start(f, replies, false, false);
	f->n_wanted = 2;
	assert_int_equal(loop_run(f->loop), 0);
	assert_string_equal(f->found, "a a -\na a -\n");
}

TEST_FIXTURE(on_demand_events_are_followed_after_an_answer, set_up, tear_down)
{
	static const struct reply replies[] = {
		{"/containers/" ID_A "/json",
		 OK "{\"Id\":\"" ID_A "\",\"Name\":\"/web\",\"Config\":{}}", false},
		{"/containers/", "HTTP/1.1 404 Not Found\r\nConnection: close\r\n\r\n{}", false},
		{"GET /events", OK EVENT(ID_B, "short"), true},
		{0}};
	static const char *const unknown[] = {ID_B}, *const known[] = {ID_A};
	struct fixture *f = *state;

	start(f, replies, true, false);
	assert_int_equal(ask(f, unknown, 1), 0);
	assert_int_equal(f->n_requests, 1);
	assert_int_equal(ask(f, known, 1), 0);
	f->n_wanted = 2;
	if (f->n_found < 2)
		assert_int_equal(loop_run(f->loop), 0);
	assert_string_equal(f->found, "a web -\nb short -\n");
}
