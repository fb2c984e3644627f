/* Who gets a connection, and who loses it, when there are more clients than connections. */
#include <errno.h>
#include <netinet/in.h>
#include <semaphore.h>
#include <sys/resource.h>
#include <sys/socket.h>

#include "common/http/http_server.h"
#include "common/system/clock.h"
#include "common/thread/queue.h"
#include "test/lib/raw_client.h"
#include "test/lib/unit.h"

#define GET(path) "GET " path " HTTP/1.1\r\nHost: x\r\n\r\n"
#define POST "POST /upload HTTP/1.1\r\nHost: x\r\nContent-Length: 1000\r\n\r\nbegin"
#define MAX 8
/* More than the server has places for, the spare ones included. */
#define MANY 60
/* Pauses between attempts to accept. */
#define RETRY_NS (100 * NS_PER_MS)
/* A limit below which all descriptors are taken; poll() wants one at least. */
#define NONE_FREE 3
#define ACCEPT_FAILURES "http_server_accept_failures_total"
/* More than the buffers of a connection hold. */
#define HUGE_BYTES ((size_t)16 << 20)

struct fixture {
	struct http_server *server;
	struct metrics *metrics;
	struct queue *kept;
	sem_t held, release; /* of /hold */
	_Atomic unsigned n_uploads;
	int fds[MANY];
	int n_fds;
};

static void small(void *ctx, struct http_exchange *x)
{
	(void)ctx;
	http_respond_text(x, 200, "done");
}

static void later(void *ctx, struct http_exchange *x)
{
	struct fixture *f = ctx;

	assert_int_equal(queue_push(f->kept, x), 0);
}

/* Holds up the server's thread. */
static void hold(void *ctx, struct http_exchange *x)
{
	struct fixture *f = ctx;

	sem_post(&f->held);
	while (sem_wait(&f->release) < 0)
		;
	small(ctx, x);
}

static void upload(void *ctx, struct http_exchange *x)
{
	struct fixture *f = ctx;

	f->n_uploads++;
	small(ctx, x);
}

static void huge(void *ctx, struct http_exchange *x)
{
	(void)ctx;
	http_respond(x, 200, "text/plain", calloc(1, HUGE_BYTES), HUGE_BYTES);
}

static int set_up_threads(void **state, unsigned n_threads)
{
	struct fixture *f = calloc(1, sizeof(*f));
	const struct http_route routes[] = {
		{"GET", "/small", 0, small, f},
		{"GET", "/later", 0, later, f},
		{"GET", "/huge", 0, huge, f},
		{"GET", "/hold", 0, hold, f},
		{"POST", "/upload", 1000, upload, f},
		{"GET", "/healthz", 0, small, f, .essential = true},
		{0},
	};
	struct http_server_config cfg = {
		.listen = "127.0.0.1:0",
		.n_threads = n_threads,
		.max_connections = MAX,
		.timeout_s = 300,
		.max_body_memory_bytes = 1 << 20,
		.routes = routes,
	};

	*state = f;
	assert_int_equal(queue_new(&f->kept, 64), 0);
	assert_int_equal(sem_init(&f->held, 0, 0), 0);
	assert_int_equal(sem_init(&f->release, 0, 0), 0);
	assert_int_equal(metrics_new(&f->metrics), 0);
	cfg.metrics = f->metrics;
	return http_server_new(&f->server, &cfg, NULL);
}

static int set_up(void **state)
{
	return set_up_threads(state, 2);
}

static int set_up_one_thread(void **state)
{
	return set_up_threads(state, 1);
}

static int tear_down(void **state)
{
	struct fixture *f = *state;

	for (int i = 0; i < f->n_fds; i++)
		close(f->fds[i]);
	while (queue_count(f->kept) > 0)
		http_respond_text(queue_pop(f->kept), 200, "at last");
	http_server_free(f->server);
	metrics_free(f->metrics);
	queue_free(f->kept);
	sem_destroy(&f->held);
	sem_destroy(&f->release);
	free(f);
	return 0;
}

/* Opens a connection, which stays open until the end, and sends text. */
static int open_from(struct fixture *f, const char *address, const char *text)
{
	int fd = raw_client_connect_from(address, http_server_port(f->server));

	assert_true(f->n_fds < MANY);
	f->fds[f->n_fds++] = fd;
	raw_client_send(fd, text);
	return fd;
}

/* The status of an answer; 0 if the connection was closed without one. */
static unsigned ask_on(int fd, const char *text)
{
	AUTO_FREE char *answer = NULL;

	if (!raw_client_try_send(fd, text))
		return 0;
	answer = raw_client_read(fd, "\n\r\n");
	return strncmp(answer, "HTTP/1.1 ", 9) == 0 ? (unsigned)strtoul(answer + 9, NULL, 10) : 0;
}

static unsigned ask_from(struct fixture *f, const char *address, const char *text)
{
	AUTO_CLOSE int fd = raw_client_connect_from(address, http_server_port(f->server));

	return ask_on(fd, text);
}

static unsigned long metric_of(struct fixture *f, const char *name)
{
	char begin[100];
	struct buf text;
	const char *line;
	unsigned long n;

	snprintf(begin, sizeof(begin), "\n%s ", name);
	buf_init(&text, 1 << 16);
	assert_int_equal(metrics_write(f->metrics, &text), 0);
	assert_int_equal(buf_add(&text, "", 1), 0);
	line = strstr(text.data, begin);
	assert_non_null(line);
	n = strtoul(line + strlen(begin), NULL, 10);
	buf_fini(&text);
	return n;
}

static unsigned long counter_of(struct fixture *f, const char *metric, const char *reason)
{
	char name[100];

	snprintf(name, sizeof(name), "%s{reason=\"%s\"}", metric, reason);
	return metric_of(f, name);
}

static unsigned long counter(struct fixture *f, const char *reason)
{
	return counter_of(f, "http_server_connections_closed_total", reason);
}

static unsigned long refused(struct fixture *f, const char *reason)
{
	return counter_of(f, "http_server_refused_total", reason);
}

/* Takes n connections with requests that are being handled. */
static void keep_busy(struct fixture *f, const char *address, int n)
{
	for (int i = 0; i < n; i++)
		(void)open_from(f, address, GET("/later"));
	eventually(queue_count(f->kept) >= (size_t)n);
}

TEST_FIXTURE(the_longest_idle_connection_makes_room, set_up, tear_down)
{
	struct fixture *f = *state;

	for (int i = 0; i < MAX; i++) {
		int fd = open_from(f, "127.0.0.1", "");

		assert_int_equal(ask_on(fd, GET("/small")), 200);
	}
	assert_int_equal(ask_from(f, "127.0.0.1", GET("/small")), 200);
	assert_int_equal(ask_on(f->fds[0], GET("/small")), 0);
	for (int i = 1; i < MAX; i++)
		assert_int_equal(ask_on(f->fds[i], GET("/small")), 200);
	assert_int_equal(counter(f, "idle"), 1);
}

TEST_FIXTURE(silent_connections_lock_nobody_out, set_up, tear_down)
{
	struct fixture *f = *state;

	for (int i = 0; i < MANY; i++) {
		(void)open_from(f, "127.0.0.1", "");
		assert_int_equal(ask_from(f, "127.0.0.1", GET("/small")), 200);
	}
	assert_true(counter(f, "idle") >= MANY - MAX);
}

TEST_FIXTURE(the_address_with_most_connections_makes_room, set_up, tear_down)
{
	struct fixture *f = *state;
	int own = open_from(f, "127.0.0.1", "");

	assert_int_equal(ask_on(own, GET("/small")), 200);
	for (int i = 0; i < MANY - 1; i++)
		(void)open_from(f, "127.0.0.2", "");
	/* all of them have been accepted, as they came before this one */
	assert_int_equal(ask_from(f, "127.0.0.3", GET("/small")), 200);
	assert_int_equal(ask_on(own, GET("/small")), 200);
}

TEST_FIXTURE(a_connection_in_use_is_not_closed_for_a_busy_address, set_up, tear_down)
{
	struct fixture *f = *state;
	AUTO_CLOSE int own = raw_client_connect_from("127.0.0.1", http_server_port(f->server));
	uint64_t begin_ns;
	unsigned status;

	keep_busy(f, "127.0.0.2", MAX - 1);
	do {
		begin_ns = clock_monotonic_ns();
		while (ask_on(own, GET("/small")) != 200) {
			close(own);
			own = raw_client_connect_from("127.0.0.1", http_server_port(f->server));
		}
		status = ask_from(f, "127.0.0.2", GET("/small"));
		/* once it is silent for a second, it may be closed */
	} while (clock_monotonic_ns() - begin_ns >= NS_PER_S);
	assert_int_equal(status, 503);
	assert_int_equal(ask_on(own, GET("/small")), 200);
}

TEST_FIXTURE(essential_routes_are_served_while_all_connections_are_busy, set_up, tear_down)
{
	struct fixture *f = *state;

	keep_busy(f, "127.0.0.1", MAX);
	assert_int_equal(ask_from(f, "127.0.0.1", GET("/healthz")), 200);
	assert_int_equal(ask_from(f, "127.0.0.1", GET("/small")), 503);
	assert_int_equal(ask_from(f, "127.0.0.1", GET("/nothing")), 503);
	assert_int_equal(refused(f, "connections"), 2);
	assert_int_equal(refused(f, "unknown"), 0);
	/* also when clients with half a request take the spare places */
	while (f->n_fds < MANY) {
		(void)open_from(f, "127.0.0.2", f->n_fds % 2 ? "GET /sm" : POST);
		assert_int_equal(ask_from(f, "127.0.0.1", GET("/healthz")), 200);
	}
	assert_true(counter(f, "spare") > 0);
}

/* Clients of essential routes that stay, idle, must not hand spare places to other requests. */
TEST_FIXTURE(spare_places_stay_spare, set_up, tear_down)
{
	struct fixture *f = *state;

	keep_busy(f, "127.0.0.1", MAX);
	while (f->n_fds < MANY) {
		int fd = open_from(f, f->n_fds % 2 ? "127.0.0.1" : "127.0.0.2", GET("/healthz"));

		assert_int_equal(ask_on(fd, ""), 200);
		assert_int_equal(ask_from(f, "127.0.0.1", GET("/later")), 503);
		assert_int_equal(ask_from(f, "127.0.0.1", GET("/healthz")), 200);
	}
}

TEST_FIXTURE(essential_routes_are_served_while_clients_do_not_read, set_up, tear_down)
{
	struct fixture *f = *state;

	while (f->n_fds < MANY) {
		(void)open_from(f, f->n_fds % 2 ? "127.0.0.1" : "127.0.0.2", GET("/huge"));
		assert_int_equal(ask_from(f, "127.0.0.1", GET("/healthz")), 200);
	}
}

TEST_FIXTURE(an_address_with_most_of_the_room_makes_room_when_it_is_slow, set_up, tear_down)
{
	struct fixture *f = *state;
	unsigned status = 503;

	keep_busy(f, "127.0.0.1", 1);
	for (int i = 1; i < MAX; i++)
		(void)open_from(f, "127.0.0.2", POST);
	/* a second must have passed since they began */
	for (int i = 0; i < 6000 && status == 503; i++) {
		usleep(50000);
		status = ask_from(f, "127.0.0.1", GET("/small"));
	}
	assert_int_equal(status, 200);
	assert_true(counter(f, "slow") > 0);
}

/* Its client repeats it, so that it would be stored twice. */
TEST_FIXTURE(a_request_whose_connection_was_closed_is_not_handled, set_up_one_thread, tear_down)
{
	struct fixture *f = *state;
	unsigned n_answered = 0;
	char rest[996];
	int second;

	for (int i = 0; i < MAX - 2; i++) {
		int fd = open_from(f, "127.0.0.2",
				   "POST /upload HTTP/1.1\r\nHost: x\r\nContent-Length: 995\r\n"
				   "Expect: 100-continue\r\n\r\n");

		free(raw_client_read(fd, "\n\r\n"));
	}
	second = open_from(f, "127.0.0.1", "");
	assert_int_equal(ask_on(second, GET("/small")), 200);
	(void)open_from(f, "127.0.0.1", GET("/hold"));
	assert_int_equal(sem_wait(&f->held), 0);
	/* the thread will see all of these at once, and begin with the first */
	raw_client_send(second, GET("/hold"));
	memset(rest, 'x', sizeof(rest) - 1);
	rest[sizeof(rest) - 1] = '\0';
	for (int i = 0; i < MAX - 2; i++)
		raw_client_send(f->fds[i], rest);
	sem_post(&f->release);
	assert_int_equal(sem_wait(&f->held), 0);
	while (counter(f, "slow") == 0) {
		AUTO_CLOSE int fd =
			raw_client_connect_from("127.0.0.3", http_server_port(f->server));

		raw_client_send(fd, GET("/small"));
		usleep(100000);
	}
	sem_post(&f->release);
	for (int i = 0; i < MAX - 2; i++)
		n_answered += ask_on(f->fds[i], "") == 200;
	assert_true(n_answered < MAX - 2);
	assert_int_equal(f->n_uploads, n_answered);
}

TEST_FIXTURE(headers_that_trickle_in_are_cut_off, set_up, tear_down)
{
	struct fixture *f = *state;
	int fd = open_from(f, "127.0.0.1", "GET /small HTTP/1.1\r\n");
	int keep_alive = open_from(f, "127.0.0.1", "");

	assert_int_equal(ask_on(keep_alive, GET("/small")), 200);
	while (counter(f, "headers_late") < 2) {
		(void)raw_client_try_send(fd, "X");
		(void)raw_client_try_send(keep_alive, "X");
		usleep(200000);
	}
	assert_int_equal(ask_from(f, "127.0.0.1", GET("/small")), 200);
}

/* A request whose middle consists of a million times 'a'. */
static unsigned ask_long(struct fixture *f, const char *begin, const char *end)
{
	const size_t len = 1000000;
	AUTO_FREE char *text = calloc(1, len + strlen(begin) + strlen(end) + 1);
	size_t n = strlen(begin);

	memcpy(text, begin, n);
	memset(text + n, 'a', len);
	memcpy(text + n + len, end, strlen(end));
	return ask_from(f, "127.0.0.1", text);
}

TEST_FIXTURE(oversized_requests_are_answered, set_up, tear_down)
{
	struct fixture *f = *state;

	for (int i = 0; i < 5; i++) {
		assert_int_equal(ask_long(f, "GET /", " HTTP/1.1\r\nHost: x\r\n\r\n"), 414);
		assert_int_equal(
			ask_long(f, "GET /small HTTP/1.1\r\nHost: x\r\nX-Long: ", "\r\n\r\n"), 431);
	}
	assert_int_equal(refused(f, "malformed"), 10);
}

TEST_FIXTURE(what_is_not_http_is_refused, set_up, tear_down)
{
	static const char *const garbage[] = {
		"\x16\x03\x01\x02\r\n\r\n",
		"SSH-2.0-OpenSSH\r\n\r\n",
		"GET\r\n\r\n",
		"GET /small HTTP/9.9.9\r\n\r\n",
		"GET /small HTTP/1.1\r\nno colon\r\n\r\n",
	};
	struct fixture *f = *state;

	for (size_t i = 0; i < ARRAY_SIZE(garbage); i++) {
		unsigned status = ask_from(f, "127.0.0.1", garbage[i]);

		if (status != 0 && (status < 400 || status > 505))
			fail_msg("%u for \"%s\"", status, garbage[i]);
	}
	assert_int_equal(ask_from(f, "127.0.0.1", GET("/small")), 200);
}

static void limit_descriptors(rlim_t n)
{
	struct rlimit limit;

	assert_int_equal(getrlimit(RLIMIT_NOFILE, &limit), 0);
	limit.rlim_cur = n;
	assert_int_equal(setrlimit(RLIMIT_NOFILE, &limit), 0);
}

/* The server's descriptor of the connection that is fd here. */
static int other_end(int fd)
{
	struct sockaddr_in own, peer;
	socklen_t len = sizeof(own);

	assert_int_equal(getsockname(fd, (struct sockaddr *)&own, &len), 0);
	for (int i = 0; i < 1024; i++) {
		len = sizeof(peer);
		if (getpeername(i, (struct sockaddr *)&peer, &len) == 0 &&
		    peer.sin_family == AF_INET && peer.sin_port == own.sin_port)
			return i;
	}
	fail_msg("the server has not accepted the connection");
	return -1;
}

/* Returns after n more attempts to accept, which must be as far apart as they are meant to be. */
static void wait_for_failures(struct fixture *f, unsigned long n)
{
	uint64_t begin_ns = clock_monotonic_ns();
	unsigned long before = metric_of(f, ACCEPT_FAILURES), more = 0;

	while (more < n) {
		usleep(10000);
		more = metric_of(f, ACCEPT_FAILURES) - before;
	}
	/* the first may follow one before it, and another one may have come since */
	if (more > (clock_monotonic_ns() - begin_ns) / RETRY_NS + 1)
		fail_msg("%lu attempts in %llu ms", more,
			 (unsigned long long)((clock_monotonic_ns() - begin_ns) / NS_PER_MS));
}

TEST_FIXTURE(a_process_without_descriptors_waits_and_recovers, set_up, tear_down)
{
	struct fixture *f = *state;
	struct sockaddr_in to = {.sin_family = AF_INET,
				 .sin_port = htons((uint16_t)http_server_port(f->server)),
				 .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
	AUTO_CLOSE int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
	AUTO_CLOSE int second = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
	AUTO_FREE char *rest = NULL;
	struct rlimit before;
	int theirs;

	assert_int_equal(getrlimit(RLIMIT_NOFILE, &before), 0);
	limit_descriptors(NONE_FREE);
	assert_int_equal(connect(fd, (const struct sockaddr *)&to, sizeof(to)), 0);
	raw_client_send(fd, GET("/small"));
	wait_for_failures(f, 10);
	limit_descriptors(before.rlim_cur);
	assert_int_equal(ask_on(fd, ""), 200);

	/* this connection is idle from here on, and gives its descriptor to the next one */
	theirs = other_end(fd);
	limit_descriptors(NONE_FREE);
	assert_int_equal(connect(second, (const struct sockaddr *)&to, sizeof(to)), 0);
	raw_client_send(second, GET("/small"));
	rest = raw_client_read(fd, NULL); /* until it is closed */
	limit_descriptors((rlim_t)theirs + 1);
	assert_int_equal(ask_on(second, ""), 200);
	limit_descriptors(before.rlim_cur);
	assert_int_equal(counter(f, "idle"), 1);
}

int main(void)
{
	return unit_run(NULL, NULL);
}
