/* Requests over unix sockets, in HTTP/1.1 and HTTP/2, to servers that work and that fail. */
#include <errno.h>
#include <fcntl.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>

#include "common/http/http.h"
#include "common/system/clock.h"
#include "common/system/unix_socket.h"
#include "test/lib/h2_server.h"
#include "test/lib/raw_server.h"
#include "test/lib/unit.h"

struct fixture {
	const char *folder;
	char path[128];
	struct loop *loop;
	struct http_client *client;
	struct loop_source *stopper;
	struct h2_server h2;
	struct h2_reply reply; /* of the next request; the fault of later ones is H2_OK */
	pthread_mutex_t reply_lock;
	size_t body_len;
	struct raw_server raw;

	int n_done, error, status;
	size_t len;
	uint64_t body_sum;
	size_t n_streamed;
	char grpc_status[16], grpc_message[64], msg[256];
};

static void stop(void *ctx)
{
	struct fixture *f = ctx;

	loop_stop(f->loop);
}

static int set_up(void **state)
{
	struct fixture *f = calloc(1, sizeof(*f));

	*state = f;
	pthread_mutex_init(&f->reply_lock, NULL);
	f->folder = temp_dir();
	snprintf(f->path, sizeof(f->path), "%s/s.sock", f->folder);
	assert_int_equal(loop_new(&f->loop), 0);
	return loop_add_wake(f->loop, stop, f, &f->stopper);
}

static int tear_down(void **state)
{
	struct fixture *f = *state;

	http_client_free(f->client);
	h2_server_stop(&f->h2);
	raw_server_stop(&f->raw);
	loop_free(f->loop);
	unlink(f->path);
	assert_int_equal(rmdir(f->folder), 0);
	pthread_mutex_destroy(&f->reply_lock);
	free(f);
	return 0;
}

static void make_client(struct fixture *f, bool http2)
{
	const struct http_client_config cfg = {.unix_socket = f->path, .http2 = http2};

	assert_int_equal(http_client_new(&f->client, f->loop, &cfg), 0);
}

static void keep(char *to, size_t size, const char *from)
{
	snprintf(to, size, "%s", from ? from : "-");
}

static void keep_result(void *ctx, const struct http_result *result)
{
	struct fixture *f = ctx;

	f->n_done++;
	f->error = result->error;
	f->status = result->status;
	f->len = result->body_len;
	f->body_sum = 0;
	for (size_t i = 0; i < result->body_len; i++)
		f->body_sum += (unsigned char)result->body[i];
	keep(f->grpc_status, sizeof(f->grpc_status), http_result_header(result, "Grpc-Status"));
	keep(f->grpc_message, sizeof(f->grpc_message), http_result_header(result, "grpc-message"));
	keep(f->msg, sizeof(f->msg), result->msg);
	loop_wake(f->stopper);
}

static int ask(struct fixture *f, struct http_request req)
{
	int n_before = f->n_done;

	req.url = "http://localhost/package.Service/Method";
	if (!req.timeout_ns)
		req.timeout_ns = 300 * NS_PER_S;
	req.max_response_bytes = 64 << 20;
	if (!req.method) {
		req.method = "POST";
		req.body = "question";
		req.body_len = 8;
	}
	assert_int_equal(http_send(f->client, &req, keep_result, f), 0);
	assert_int_equal(loop_run(f->loop), 0);
	assert_int_equal(f->n_done, n_before + 1);
	return f->error;
}

/* ---- HTTP/1.1 --------------------------------------------------------------------------- */

static const char hello[] = "HTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\nhello";

static void start_raw(struct fixture *f, enum after_reply then)
{
	f->raw = (struct raw_server){.unix_socket = f->path, .reply = hello, .then = then};
	raw_server_start(&f->raw);
}

TEST_FIXTURE(http1_works_over_a_unix_socket_and_ignores_proxies, set_up, tear_down)
{
	struct fixture *f = *state;

	start_raw(f, THEN_REPEAT);
	setenv("http_proxy", "http://127.0.0.1:1", 1);
	make_client(f, false);
	for (int i = 0; i < 3; i++) {
		assert_int_equal(ask(f, (struct http_request){.method = "GET"}), 0);
		assert_int_equal(f->status, 200);
		assert_int_equal(f->len, 5);
	}
	unsetenv("http_proxy");
	http_client_free(f->client);
	f->client = NULL;
	raw_server_stop(&f->raw);
	assert_non_null(strstr(f->raw.request, "GET /package.Service/Method HTTP/1.1\r\n"));
	assert_non_null(strstr(f->raw.request, "Host: localhost\r\n"));
}

TEST_FIXTURE(a_long_path_is_reached_through_its_folder, set_up, tear_down)
{
	struct fixture *f = *state;
	char outer[192], inner[320], path[384];

	start_raw(f, THEN_CLOSE);
	snprintf(outer, sizeof(outer), "%s/%0*d", f->folder, 100, 0);
	snprintf(inner, sizeof(inner), "%s/%0*d", outer, 100, 0);
	snprintf(path, sizeof(path), "%s/s", inner);
	assert_int_equal(mkdir(outer, 0700), 0);
	assert_int_equal(mkdir(inner, 0700), 0);
	assert_int_equal(rename(f->path, path), 0);
	{
		const struct http_client_config cfg = {.unix_socket = path};

		assert_int_equal(http_client_new(&f->client, f->loop, &cfg), 0);
		assert_int_equal(ask(f, (struct http_request){.method = "GET"}), 0);
		assert_int_equal(f->len, 5);
	}
	assert_int_equal(rename(path, f->path), 0);
	assert_int_equal(rmdir(inner), 0);
	assert_int_equal(rmdir(outer), 0);
}

TEST_FIXTURE(errors_of_connecting_have_their_number_and_a_sentence, set_up, tear_down)
{
	struct fixture *f = *state;
	int fd;

	make_client(f, true);
	assert_int_equal(ask(f, (struct http_request){0}), -ENOENT);
	assert_string_equal(f->msg, "No such file or directory");
	fd = open(f->path, O_CREAT | O_WRONLY | O_CLOEXEC, 0600);
	assert_true(fd >= 0);
	close(fd);
	assert_int_equal(ask(f, (struct http_request){0}), -ECONNREFUSED);
}

TEST_FIXTURE(a_lack_of_descriptors_is_reported_as_such, set_up, tear_down)
{
	struct fixture *f = *state;
	struct rlimit before, none;
	int r;

	start_raw(f, THEN_CLOSE);
	make_client(f, false);
	assert_int_equal(getrlimit(RLIMIT_NOFILE, &before), 0);
	none = (struct rlimit){0, before.rlim_max};
	assert_int_equal(setrlimit(RLIMIT_NOFILE, &none), 0);
	r = ask(f, (struct http_request){.method = "GET"});
	assert_int_equal(setrlimit(RLIMIT_NOFILE, &before), 0);
	assert_int_equal(r, -EMFILE);
	assert_string_equal(f->msg, "Too many open files");
}

TEST_FIXTURE(paths_without_an_address_are_refused, set_up, tear_down)
{
	struct fixture *f = *state;
	struct sockaddr_un addr;
	char path[300];
	int fd;

	assert_int_equal(unix_address(&addr, "", &fd), -ENOENT);
	snprintf(path, sizeof(path), "%s/%0*d", f->folder, 200, 0);
	assert_int_equal(unix_address(&addr, path, &fd), -ENAMETOOLONG);
	snprintf(path, sizeof(path), "/nowhere/%0*d/s", 200, 0);
	assert_int_equal(unix_address(&addr, path, &fd), -ENOENT);
	memset(path, 'x', sizeof(path));
	path[sizeof(path) - 1] = '\0';
	assert_int_equal(unix_address(&addr, path, &fd), -ENAMETOOLONG);

	snprintf(path, sizeof(path), "%s/%0*d", f->folder, 200, 0);
	{
		const struct http_client_config cfg = {.unix_socket = path};

		assert_int_equal(http_client_new(&f->client, f->loop, &cfg), 0);
		assert_int_equal(ask(f, (struct http_request){0}), -ENAMETOOLONG);
		assert_string_equal(f->msg, "File name too long");
	}
}

/* The kernel blocks connect(2) on a blocking socket then. */
TEST_FIXTURE(a_full_queue_of_connections_fails_at_once, set_up, tear_down)
{
	struct fixture *f = *state;
	struct sockaddr_un addr;
	AUTO_CLOSE int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
	int queued[16], n = -1, no_folder;

	assert_int_equal(unix_address(&addr, f->path, &no_folder), 0);
	assert_int_equal(no_folder, -1);
	assert_int_equal(bind(fd, (struct sockaddr *)&addr, sizeof(addr)), 0);
	assert_int_equal(listen(fd, 2), 0);
	do {
		n++;
		assert_in_range(n, 0, 15);
		queued[n] = socket(AF_UNIX, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);
	} while (connect(queued[n], (struct sockaddr *)&addr, sizeof(addr)) == 0);
	assert_int_equal(errno, EAGAIN);
	for (int http2 = 0; http2 < 2; http2++) {
		make_client(f, http2);
		assert_int_equal(ask(f, (struct http_request){0}), -EAGAIN);
		assert_string_equal(f->msg, "the server accepts no connections");
		http_client_free(f->client);
	}
	f->client = NULL;
	while (n >= 0)
		close(queued[n--]);
}

/* ---- HTTP/2 ----------------------------------------------------------------------------- */

static void handle(void *ctx, const char *url_path, const char *body, size_t len,
		   struct h2_reply *reply)
{
	struct fixture *f = ctx;

	/* each connection has a thread of its own */
	pthread_mutex_lock(&f->reply_lock);
	*reply = f->reply;
	f->reply.fault = H2_OK;
	pthread_mutex_unlock(&f->reply_lock);
	if (strcmp(url_path, "/package.Service/Method") != 0 || len != 8 ||
	    memcmp(body, "question", 8) != 0)
		reply->status = "400";
	reply->body_len = f->body_len;
	reply->body = malloc(f->body_len + 1);
	for (size_t i = 0; i < f->body_len; i++)
		reply->body[i] = (char)(i % 251);
}

static void set_fault(struct fixture *f, enum h2_fault fault)
{
	pthread_mutex_lock(&f->reply_lock);
	f->reply.fault = fault;
	pthread_mutex_unlock(&f->reply_lock);
}

static void start_h2(struct fixture *f, size_t body_len)
{
	f->body_len = body_len;
	f->reply = (struct h2_reply){.grpc_status = "0", .type = "application/grpc"};
	f->h2 = (struct h2_server){.path = f->path, .handle = handle, .ctx = f};
	h2_server_start(&f->h2);
	make_client(f, true);
}

/* Waits until n connections are left. */
static void await_open(struct fixture *f, unsigned n)
{
	eventually(h2_server_open(&f->h2) == n);
}

static uint64_t sum_of_body(size_t len)
{
	uint64_t sum = 0;

	for (size_t i = 0; i < len; i++)
		sum += i % 251;
	return sum;
}

TEST_FIXTURE(http2_answers_come_with_their_trailers, set_up, tear_down)
{
	struct fixture *f = *state;

	start_h2(f, 1000);
	f->reply.grpc_message = "all is well";
	for (int i = 0; i < 50; i++) {
		assert_int_equal(ask(f, (struct http_request){0}), 0);
		assert_int_equal(f->status, 200);
		assert_int_equal(f->len, 1000);
		assert_int_equal(f->body_sum, sum_of_body(1000));
		assert_string_equal(f->grpc_status, "0");
		assert_string_equal(f->grpc_message, "all is well");
	}
	await_open(f, 0);
}

TEST_FIXTURE(trailers_may_be_all_that_is_answered, set_up, tear_down)
{
	struct fixture *f = *state;

	start_h2(f, 10);
	f->reply.fault = H2_TRAILERS_ONLY;
	f->reply.grpc_status = "12";
	f->reply.grpc_message = "unknown service runtime.v1.RuntimeService";
	assert_int_equal(ask(f, (struct http_request){0}), 0);
	assert_int_equal(f->len, 0);
	assert_string_equal(f->grpc_status, "12");
	assert_string_equal(f->grpc_message, "unknown service runtime.v1.RuntimeService");
}

TEST_FIXTURE(large_bodies_arrive_whole, set_up, tear_down)
{
	static const size_t sizes[] = {0, 1, 16384, 65535, 65536, 3000001, 40000000};
	struct fixture *f = *state;

	start_h2(f, 0);
	for (size_t i = 0; i < ARRAY_SIZE(sizes); i++) {
		f->body_len = sizes[i];
		assert_int_equal(ask(f, (struct http_request){0}), 0);
		assert_int_equal(f->len, sizes[i]);
		assert_int_equal(f->body_sum, sum_of_body(sizes[i]));
		assert_string_equal(f->grpc_status, "0");
	}
	/* of every length around those of libcurl's buffers and of HTTP/2's frames and windows */
	for (size_t size = 16384; size <= 262144; size *= 2) {
		for (f->body_len = size - 20; f->body_len < size + 20; f->body_len++) {
			assert_int_equal(ask(f, (struct http_request){0}), 0);
			assert_int_equal(f->len, f->body_len);
		}
	}
	f->body_len = (size_t)65 << 20;
	assert_int_equal(ask(f, (struct http_request){0}), -EFBIG);
	f->body_len = 1;
	assert_int_equal(ask(f, (struct http_request){0}), 0);
}

static int count_piece(void *ctx, const char *data, size_t len)
{
	struct fixture *f = ctx;

	(void)data;
	f->n_streamed += len;
	return 0;
}

TEST_FIXTURE(bodies_may_be_streamed, set_up, tear_down)
{
	struct fixture *f = *state;

	start_h2(f, 1000000);
	assert_int_equal(ask(f, (struct http_request){.on_data = count_piece}), 0);
	assert_int_equal(f->len, 0);
	assert_int_equal(f->n_streamed, 1000000);
	assert_string_equal(f->grpc_status, "0");
}

/* A request that times out must not leave a connection that makes the next one time out too. */
TEST_FIXTURE(each_fault_ends_its_request_and_no_other, set_up, tear_down)
{
	static const struct {
		enum h2_fault fault;
		int error[2];
	} cases[] = {
		{H2_HANG, {-ETIMEDOUT, -ETIMEDOUT}},  {H2_HANG_MIDWAY, {-ETIMEDOUT, -ETIMEDOUT}},
		{H2_DROP, {-ECONNRESET, -EPROTO}},    {H2_DROP_MIDWAY, {-ECONNRESET, -EPROTO}},
		{H2_RESET, {-EPROTO, -EPROTO}},       {H2_GOAWAY, {-ECONNRESET, -EPROTO}},
		{H2_GARBAGE, {-ECONNRESET, -EPROTO}}, {H2_OK, {0, 0}},
	};
	struct fixture *f = *state;

	start_h2(f, 100000);
	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		bool hangs = cases[i].error[0] == -ETIMEDOUT;

		set_fault(f, cases[i].fault);
		ask(f, (struct http_request){.timeout_ns = hangs ? 2 * NS_PER_S : 0});
		if (f->error != cases[i].error[0] && f->error != cases[i].error[1])
			fail_msg("fault %d: %d: %s", cases[i].fault, f->error, f->msg);
		assert_int_equal(ask(f, (struct http_request){0}), 0);
		assert_int_equal(f->body_sum, sum_of_body(100000));
	}
}

/* libcurl 7.88 may lose the body, which its length must show. */
TEST_FIXTURE(a_goaway_after_the_answer_spoils_no_other_request, set_up, tear_down)
{
	struct fixture *f = *state;

	start_h2(f, 10);
	for (int i = 0; i < 5; i++) {
		set_fault(f, H2_GOAWAY_AFTER);
		ask(f, (struct http_request){0});
		assert_true(f->error == 0 || f->error == -EPROTO || f->error == -ECONNRESET);
		assert_true(f->len == 0 || f->len == 10);
		assert_int_equal(ask(f, (struct http_request){0}), 0);
		assert_int_equal(f->len, 10);
	}
	await_open(f, 0);
}

TEST_FIXTURE(a_restarted_server_is_reached_at_once, set_up, tear_down)
{
	struct fixture *f = *state;

	start_h2(f, 10);
	assert_int_equal(ask(f, (struct http_request){0}), 0);
	h2_server_stop(&f->h2);
	assert_int_equal(ask(f, (struct http_request){0}), -ENOENT);
	h2_server_start(&f->h2);
	assert_int_equal(ask(f, (struct http_request){0}), 0);
}

/* The server reads nothing: requests time out, connections and descriptors stay bounded. */
TEST_FIXTURE(a_mute_server_costs_time_outs_only, set_up, tear_down)
{
	struct fixture *f = *state;

	f->h2.is_mute = true;
	f->h2.path = f->path;
	h2_server_start(&f->h2);
	make_client(f, true);
	for (int i = 0; i < 20; i++)
		assert_int_equal(ask(f, (struct http_request){.timeout_ns = 20 * NS_PER_MS}),
				 -ETIMEDOUT);
	assert_in_range(h2_server_accepted(&f->h2), 1, 20);
	await_open(f, 0);
}

static int new_client(void *fixture)
{
	struct fixture *f = fixture;
	const struct http_client_config cfg = {.unix_socket = f->path, .http2 = true};
	CLEANUP(http_client_freep) struct http_client *c = NULL;

	return http_client_new(&c, f->loop, &cfg);
}

TEST_FIXTURE(memory_may_run_out, set_up, tear_down)
{
	check_oom(new_client, *state);
}
