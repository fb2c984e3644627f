/* The client is libcurl's HTTP/2, which is nghttp2's other side. */
#include <curl/curl.h>
#include <errno.h>
#include <netinet/in.h>
#include <poll.h>
#include <pthread.h>
#include <stdatomic.h>
#include <sys/socket.h>

#include "common/http/grpc_frame.h"
#include "common/http/grpc_server.h"
#include "common/http/server_tls.h"
#include "test/lib/raw_client.h"
#include "test/lib/tls_files.h"
#include "test/lib/unit.h"

#define MAX_MESSAGE ((size_t)1 << 20)
#define N_CLIENTS 8
#define N_CALLS 40

struct answer {
	long http_status;
	char grpc_status[16];
	char grpc_message[256];
	char body[256];
	size_t len;
	CURLcode result;
};

struct fixture {
	struct grpc_server *server;
	struct access *access;
	struct server_tls *tls;
	struct tls_files files;
	bool has_files;
	pthread_mutex_t lock;
	struct grpc_call *kept[64];
	unsigned n_kept;
	_Atomic unsigned n_calls;
	uint64_t request_ns; /* of the configuration */
};

static struct fixture fx = {.lock = PTHREAD_MUTEX_INITIALIZER};

/* Answers with the message and how it is compressed. */
static void echo(struct grpc_call *c)
{
	char text[128];
	size_t len;
	const char *message = grpc_call_message(c, &len);
	int n = snprintf(text, sizeof(text), "%s:%.*s", grpc_call_encoding(c),
			 (int)(len < 64 ? len : 64), message);

	grpc_respond(c, GRPC_OK, "", text, (size_t)n);
}

static void serve_echo(void *ctx, struct grpc_call *c)
{
	(void)ctx;
	fx.n_calls++;
	echo(c);
}

static void *echo_later(void *call)
{
	echo(call);
	return NULL;
}

/* Answered by a thread of its own. */
static void serve_later(void *ctx, struct grpc_call *c)
{
	pthread_t t;

	(void)ctx;
	assert_int_equal(pthread_create(&t, NULL, echo_later, c), 0);
	pthread_detach(t);
}

static void serve_keep(void *ctx, struct grpc_call *c)
{
	(void)ctx;
	pthread_mutex_lock(&fx.lock);
	fx.kept[fx.n_kept++] = c;
	pthread_mutex_unlock(&fx.lock);
}

static void serve_refuse(void *ctx, struct grpc_call *c)
{
	(void)ctx;
	grpc_respond(c, GRPC_INVALID_ARGUMENT, "100 % wröng", NULL, 0);
}

static const struct grpc_method methods[] = {
	{"/t.T/Echo", ACCESS_WRITE, serve_echo, NULL},
	{"/t.T/Later", ACCESS_WRITE, serve_later, NULL},
	{"/t.T/Keep", ACCESS_WRITE, serve_keep, NULL},
	{"/t.T/Refuse", ACCESS_WRITE, serve_refuse, NULL},
	{},
};

static void start_with(unsigned max_connections)
{
	const struct grpc_server_config cfg = {
		.listen = "127.0.0.1:0",
		.max_connections = max_connections,
		.max_message_bytes = MAX_MESSAGE,
		.max_memory_bytes = 4 * MAX_MESSAGE,
		.methods = methods,
		.access = fx.access,
		.tls = fx.tls,
		.request_ns = fx.request_ns,
	};
	struct err err = {""};

	if (grpc_server_new(&fx.server, &cfg, &err) < 0)
		fail_msg("%s", err.msg);
}

static size_t take_header(char *line, size_t size, size_t n, void *ctx)
{
	struct answer *a = ctx;

	(void)size;
	if (sscanf(line, "grpc-status: %15[0-9]", a->grpc_status) != 1)
		sscanf(line, "grpc-message: %255[^\r\n]", a->grpc_message);
	return n;
}

static size_t take_body(char *data, size_t size, size_t n, void *ctx)
{
	struct answer *a = ctx;

	(void)size;
	for (size_t i = 0; i < n && a->len < sizeof(a->body); i++)
		a->body[a->len++] = data[i];
	return n;
}

static CURL *new_client(void)
{
	CURL *c = curl_easy_init();

	assert_non_null(c);
	curl_easy_setopt(c, CURLOPT_HTTP_VERSION,
			 fx.tls ? CURL_HTTP_VERSION_2_0 : CURL_HTTP_VERSION_2_PRIOR_KNOWLEDGE);
	curl_easy_setopt(c, CURLOPT_HEADERFUNCTION, take_header);
	curl_easy_setopt(c, CURLOPT_WRITEFUNCTION, take_body);
	curl_easy_setopt(c, CURLOPT_SSL_VERIFYPEER, 0L);
	curl_easy_setopt(c, CURLOPT_SSL_VERIFYHOST, 0L);
	curl_easy_setopt(c, CURLOPT_NOSIGNAL, 1L);
	return c;
}

static struct answer call_with(CURL *c, const char *path, const char *header, const void *body,
			       size_t len)
{
	struct curl_slist *headers = curl_slist_append(NULL, "Content-Type: application/grpc");
	struct answer a = {0};
	char url[128];

	headers = curl_slist_append(headers, header);
	snprintf(url, sizeof(url), "%s://127.0.0.1:%u%s", fx.tls ? "https" : "http",
		 grpc_server_port(fx.server), path);
	curl_easy_setopt(c, CURLOPT_URL, url);
	curl_easy_setopt(c, CURLOPT_HTTPHEADER, headers);
	curl_easy_setopt(c, CURLOPT_HEADERDATA, &a);
	curl_easy_setopt(c, CURLOPT_WRITEDATA, &a);
	curl_easy_setopt(c, CURLOPT_POSTFIELDS, body);
	curl_easy_setopt(c, CURLOPT_POSTFIELDSIZE, (long)len);
	a.result = curl_easy_perform(c);
	curl_easy_getinfo(c, CURLINFO_RESPONSE_CODE, &a.http_status);
	curl_slist_free_all(headers);
	return a;
}

static struct answer call(const char *path, const char *header, const void *body, size_t len)
{
	CURL *c = new_client();
	struct answer a = call_with(c, path, header, body, len);

	curl_easy_cleanup(c);
	return a;
}

static void check_message(const struct answer *a, const char *text)
{
	struct grpc_frame frame;
	struct err err;

	assert_int_equal(a->result, CURLE_OK);
	assert_int_equal(a->http_status, 200);
	assert_int_equal(grpc_frame_read(&frame, a->body, a->len, &err), 0);
	assert_int_equal(frame.len, strlen(text));
	assert_memory_equal(frame.message, text, frame.len);
}

static void check_echo(const struct answer *a, const char *text)
{
	assert_string_equal(a->grpc_status, "0");
	check_message(a, text);
}

static int set_up(void **state);
static int tear_down(void **state);

TEST_FIXTURE(a_call_gets_its_message_and_its_answer, set_up, tear_down)
{
	struct answer a;

	start_with(16);
	a = call("/t.T/Echo", "X: 1", "\0\0\0\0\5hello", 10);
	check_echo(&a, ":hello");
	a = call("/t.T/Later", "grpc-encoding: gzip", "\1\0\0\0\2zz", 7);
	check_echo(&a, "gzip:zz");
	/* the flag says whether this message is compressed */
	a = call("/t.T/Echo", "grpc-encoding: gzip", "\0\0\0\0\0", 5);
	check_echo(&a, ":");
}

TEST_FIXTURE(what_is_wrong_is_told_by_status, set_up, tear_down)
{
	AUTO_FREE char *large = calloc(1, MAX_MESSAGE + 100);
	struct answer a;

	assert_non_null(large);
	start_with(16);
	a = call("/t.T/Refuse", "X: 1", "\0\0\0\0\0", 5);
	assert_string_equal(a.grpc_status, "3");
	assert_string_equal(a.grpc_message, "100 %25 wr%C3%B6ng");
	a = call("/t.T/None", "X: 1", "\0\0\0\0\0", 5);
	assert_string_equal(a.grpc_status, "12");
	a = call("/t.T/Echo", "X: 1", "\0\0\0", 3);
	assert_string_equal(a.grpc_status, "3");
	a = call("/t.T/Echo", "X: 1", "\0\0\0\0\1xy", 7);
	assert_string_equal(a.grpc_status, "3");
	large[1] = 0;
	large[2] = 0x10;
	a = call("/t.T/Echo", "X: 1", large, MAX_MESSAGE + 100);
	assert_string_equal(a.grpc_status, "8");
	/* and the server still works */
	a = call("/t.T/Echo", "X: 1", "\0\0\0\0\1x", 6);
	check_echo(&a, ":x");
}

TEST_FIXTURE(keys_are_checked_before_the_body, set_up, tear_down)
{
	const struct access_config cfg = {.write_key = "a-secret-key"};
	struct err err = {""};
	struct answer a;

	assert_int_equal(access_new(&fx.access, &cfg, &err), 0);
	start_with(16);
	a = call("/t.T/Echo", "X: 1", "\0\0\0\0\1x", 6);
	assert_string_equal(a.grpc_status, "16");
	a = call("/t.T/Echo", "X-Api-Key: wrong", "\0\0\0\0\1x", 6);
	assert_string_equal(a.grpc_status, "16");
	assert_int_equal(fx.n_calls, 0);
	a = call("/t.T/Echo", "X-Api-Key: a-secret-key", "\0\0\0\0\1x", 6);
	check_echo(&a, ":x");
	a = call("/t.T/Echo", "Authorization: Bearer a-secret-key", "\0\0\0\0\1x", 6);
	check_echo(&a, ":x");
}

static void *call_often(void *failed)
{
	CURL *c = new_client();

	/* libcurl 7.88 cannot use a connection with prior knowledge again */
	curl_easy_setopt(c, CURLOPT_FORBID_REUSE, 1L);
	for (int i = 0; i < N_CALLS; i++) {
		struct answer a = call_with(c, "/t.T/Later", "X: 1", "\0\0\0\0\1x", 6);

		/* libcurl 7.88 loses trailers that come late; test/e2e has a client of Go */
		if (a.result != CURLE_OK || a.http_status != 200 || a.len != 7)
			*(_Atomic bool *)failed = true;
	}
	curl_easy_cleanup(c);
	return NULL;
}

TEST_FIXTURE(answers_of_many_threads_reach_their_calls, set_up, tear_down)
{
	pthread_t threads[N_CLIENTS];
	_Atomic bool failed = false;

	/* libcurl leaves without the trailers, and its calls stay until that is noticed */
	start_with(8 * N_CLIENTS);
	for (int i = 0; i < N_CLIENTS; i++)
		assert_int_equal(pthread_create(&threads[i], NULL, call_often, &failed), 0);
	for (int i = 0; i < N_CLIENTS; i++)
		pthread_join(threads[i], NULL);
	assert_false(failed);
}

/* HTTP/2 as bytes: settings, headers of 43 bytes without compression, a message "x". */
#define RAW_CALL(settings, path)                                           \
	"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n" settings "\0\0\x2b\1\4\0\0\0\1" \
	"\x83\x86\x04\x09" path "\x01\x09localhost\x0f\x10\x10"            \
	"application/grpc"                                                 \
	"\0\0\6\0\1\0\0\0\1\0\0\0\0\1x"

/* Sends bytes as they are on a new connection. */
static int send_raw(const void *data, size_t len)
{
	const struct sockaddr_in to = {
		.sin_family = AF_INET,
		.sin_addr = {htonl(INADDR_LOOPBACK)},
		.sin_port = htons((uint16_t)grpc_server_port(fx.server)),
	};
	int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);

	assert_true(fd >= 0);
	assert_int_equal(connect(fd, (const struct sockaddr *)&to, sizeof(to)), 0);
	assert_int_equal(send(fd, data, len, MSG_NOSIGNAL), len);
	return fd;
}

/* What the server sends until it closes the connection. */
static size_t read_all(int fd, char *ret, size_t size)
{
	size_t len = 0;
	ssize_t n = 1;

	while (n > 0 && len < size) {
		struct pollfd p = {.fd = fd, .events = POLLIN};

		if (poll(&p, 1, 120000) != 1)
			fail_msg("the server keeps the connection");
		n = recv(fd, ret + len, size - len, 0);
		len += n > 0 ? (size_t)n : 0;
	}
	return len;
}

static void wait_for_kept(unsigned n)
{
	for (int i = 0; i < 60000; i++) {
		pthread_mutex_lock(&fx.lock);
		if (fx.n_kept >= n) {
			pthread_mutex_unlock(&fx.lock);
			return;
		}
		pthread_mutex_unlock(&fx.lock);
		usleep(1000);
	}
	fail_msg("no call arrived");
}

static void *free_server(void *ctx)
{
	(void)ctx;
	grpc_server_free(TAKE_PTR(fx.server));
	return NULL;
}

/* Without libcurl 7.88, which loses what comes behind GOAWAY. */
TEST_FIXTURE(the_end_waits_for_answers, set_up, tear_down)
{
	static const char request[] = RAW_CALL("\0\0\0\4\0\0\0\0\0", "/t.T/Keep");
	AUTO_CLOSE int fd = -1;
	char answer[4096];
	pthread_t end;
	size_t len;

	start_with(16);
	fd = send_raw(request, sizeof(request) - 1);
	wait_for_kept(1);
	assert_int_equal(pthread_create(&end, NULL, free_server, NULL), 0);
	usleep(50000);
	echo(fx.kept[0]);
	len = read_all(fd, answer, sizeof(answer));
	pthread_join(end, NULL);
	assert_non_null(memmem(answer, len, "\0\0\0\0\2:x", 7));
}

TEST_FIXTURE(a_call_whose_client_has_left_is_answered_to_nobody, set_up, tear_down)
{
	CURL *c = new_client();
	struct answer a;

	start_with(16);
	curl_easy_setopt(c, CURLOPT_TIMEOUT_MS, 2000L);
	a = call_with(c, "/t.T/Keep", "X: 1", "\0\0\0\0\1x", 6);
	assert_int_equal(a.result, CURLE_OPERATION_TIMEDOUT);
	curl_easy_cleanup(c);
	wait_for_kept(1);
	echo(fx.kept[0]);
	a = call("/t.T/Echo", "X: 1", "\0\0\0\0\1x", 6);
	check_echo(&a, ":x");
}

TEST_FIXTURE(a_new_connection_takes_the_place_of_an_idle_one, set_up, tear_down)
{
	CURL *clients[6];

	start_with(2);
	for (size_t i = 0; i < ARRAY_SIZE(clients); i++) {
		struct answer a;

		clients[i] = new_client();
		a = call_with(clients[i], "/t.T/Echo", "X: 1", "\0\0\0\0\1x", 6);
		check_echo(&a, ":x");
	}
	for (size_t i = 0; i < ARRAY_SIZE(clients); i++)
		curl_easy_cleanup(clients[i]);
}

TEST_FIXTURE(tls_is_spoken_with_the_listeners_certificate, set_up, tear_down)
{
	struct err err = {""};
	struct answer a;

	tls_files_init(&fx.files);
	fx.has_files = true;
	tls_files_replace(&fx.files, "localhost");
	if (server_tls_new(&fx.tls, fx.files.cert, fx.files.key, &err) < 0)
		fail_msg("%s", err.msg);
	start_with(16);
	a = call("/t.T/Later", "X: 1", "\0\0\0\0\1x", 6);
	check_echo(&a, ":x");
}

/* Its initial window is 0: the answer's headers can be sent, its message never. */
TEST_FIXTURE(a_client_that_allows_no_answer_is_closed, set_up, tear_down)
{
	static const char request[] = RAW_CALL("\0\0\6\4\0\0\0\0\0\0\4\0\0\0\0", "/t.T/Echo");
	AUTO_CLOSE int fd = -1;
	char answer[4096];

	fx.request_ns = 1000000000;
	start_with(16);
	fd = send_raw(request, sizeof(request) - 1);
	(void)read_all(fd, answer, sizeof(answer));
	assert_int_equal(fx.n_calls, 1);
}

/* 1,100 frames of PRIORITY, which ask for nothing, and cost as much as others. */
TEST_FIXTURE(a_flood_is_ended_with_goaway, set_up, tear_down)
{
	static const uint8_t priority[14] = {0, 0, 5, 2, 0, 0, 0, 0, 1};
	static const char hello[] = "PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n\0\0\0\4\0\0\0\0";
	static const uint8_t goaway[] = {0, 0, 8, 7, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 11};
	AUTO_CLOSE int fd = -1;
	uint8_t flood[1100][sizeof(priority)];
	char answer[4096];
	size_t len;
	struct answer a;

	start_with(16);
	for (size_t i = 0; i < ARRAY_SIZE(flood); i++)
		memcpy(flood[i], priority, sizeof(priority));
	fd = send_raw(hello, sizeof(hello));
	assert_int_equal(send(fd, flood, sizeof(flood), MSG_NOSIGNAL), sizeof(flood));
	len = read_all(fd, answer, sizeof(answer));
	assert_true(len > sizeof(goaway));
	assert_memory_equal(answer + len - sizeof(goaway), goaway, sizeof(goaway));
	a = call("/t.T/Echo", "X: 1", "\0\0\0\0\1x", 6);
	check_echo(&a, ":x");
}

/* Two calls of another address that do not end hold both places. */
TEST_FIXTURE(slow_calls_of_one_address_make_room, set_up, tear_down)
{
	static const char request[] = RAW_CALL("\0\0\0\4\0\0\0\0\0", "/t.T/Echo");
	const size_t all_but_one = sizeof(request) - 2;
	int slow[2];
	struct answer a = {0};

	start_with(2);
	for (size_t i = 0; i < ARRAY_SIZE(slow); i++) {
		slow[i] = raw_client_connect_from("127.0.0.2", grpc_server_port(fx.server));
		assert_int_equal(send(slow[i], request, all_but_one, MSG_NOSIGNAL), all_but_one);
	}
	for (int i = 0; i < 1000 && strcmp(a.grpc_status, "0") != 0; i++) {
		usleep(10000);
		a = call("/t.T/Echo", "X: 1", "\0\0\0\0\1x", 6);
	}
	check_echo(&a, ":x");
	for (size_t i = 0; i < ARRAY_SIZE(slow); i++)
		close(slow[i]);
}

static int set_up(void **state)
{
	(void)state;
	fx.n_kept = 0;
	fx.n_calls = 0;
	fx.request_ns = 0;
	return 0;
}

static int tear_down(void **state)
{
	(void)state;
	grpc_server_free(TAKE_PTR(fx.server));
	access_free(TAKE_PTR(fx.access));
	server_tls_free(TAKE_PTR(fx.tls));
	if (fx.has_files)
		tls_files_fini(&fx.files);
	fx.has_files = false;
	return 0;
}

int main(void)
{
	curl_global_init(CURL_GLOBAL_DEFAULT);
	return unit_run(NULL, NULL);
}
