/* Answers that clients do not read: their memory is limited, and free again afterwards. */
#include <pthread.h>
#include <sys/socket.h>

#include "common/http/http_server.h"
#include "common/thread/queue.h"
#include "test/lib/raw_client.h"
#include "test/lib/unit.h"

#define LARGE_BYTES ((size_t)16 << 20) /* more than the sockets' buffers take */
#define ROOM_BYTES (LARGE_BYTES * 5 / 2)
#define SMALL_BYTES ((size_t)60 * 1024)
#define MIDDLE_BYTES ((size_t)2 << 20)
#define N_KEPT 60
#define N_ANSWERERS 4
#define POLLS 12000 /* of 10 ms */

struct fixture {
	struct http_server *server;
	struct metrics *metrics;
	struct queue *kept;
};

static char fixed[LARGE_BYTES];

static void respond_bytes(struct http_exchange *x, size_t len)
{
	char *text = malloc(len);

	assert_non_null(text);
	memset(text, 'a', len);
	assert_int_equal(http_exchange_set_header(x, "X-Of-Body", "1"), 0);
	http_respond(x, 200, "text/plain", text, len);
}

static void large(void *ctx, struct http_exchange *x)
{
	(void)ctx;
	respond_bytes(x, LARGE_BYTES);
}

static void small(void *ctx, struct http_exchange *x)
{
	(void)ctx;
	respond_bytes(x, SMALL_BYTES);
}

static void asset(void *ctx, struct http_exchange *x)
{
	(void)ctx;
	http_respond_static(x, "text/plain", fixed, sizeof(fixed), false);
}

static void ask_first(void *ctx, struct http_exchange *x)
{
	(void)ctx;
	if (http_exchange_hold(x, LARGE_BYTES))
		respond_bytes(x, LARGE_BYTES);
	else
		http_respond_text(x, 507, "no room");
}

static void keep(void *ctx, struct http_exchange *x)
{
	struct fixture *f = ctx;

	assert_int_equal(queue_push(f->kept, x), 0);
}

static int set_up_with(void **state, unsigned timeout_s)
{
	struct fixture *f = calloc(1, sizeof(*f));
	const struct http_route routes[] = {
		{"GET", "/large", 0, large, f},
		{"GET", "/small", 0, small, f},
		{"GET", "/asset", 0, asset, f},
		{"GET", "/ask-first", 0, ask_first, f},
		{"GET", "/kept", 0, keep, f},
		{"GET", "/essential", 0, large, f, .essential = true},
		{0},
	};
	struct http_server_config cfg = {
		.listen = "127.0.0.1:0",
		.n_threads = 2,
		.max_connections = 100,
		.timeout_s = timeout_s,
		.max_body_memory_bytes = 1 << 20,
		.max_answer_memory_bytes = ROOM_BYTES,
		.routes = routes,
	};

	*state = f;
	assert_int_equal(metrics_new(&f->metrics), 0);
	cfg.metrics = f->metrics;
	assert_int_equal(queue_new(&f->kept, N_KEPT), 0);
	return http_server_new(&f->server, &cfg, NULL);
}

static int set_up(void **state)
{
	return set_up_with(state, 300);
}

static int set_up_impatient(void **state)
{
	return set_up_with(state, 2);
}

static int tear_down(void **state)
{
	struct fixture *f = *state;

	http_server_free(f->server);
	metrics_free(f->metrics);
	queue_free(f->kept);
	free(f);
	return 0;
}

static uint64_t metric(const struct fixture *f, const char *name)
{
	CLEANUP(buf_fini) struct buf out;
	const char *at;

	buf_init(&out, 100000);
	assert_int_equal(metrics_write(f->metrics, &out), 0);
	at = strstr(out.data, name);
	assert_non_null(at);
	return strtoull(at + strlen(name), NULL, 10);
}

#define HELD "\nhttp_server_answer_memory_bytes "
#define REFUSED "\nhttp_server_refused_total{reason=\"answer_memory\"} "

static void wait_until_held(const struct fixture *f, uint64_t bytes)
{
	for (int i = 0; metric(f, HELD) != bytes; i++) {
		if (i == POLLS)
			fail_msg("%llu bytes are held, not %llu",
				 (unsigned long long)metric(f, HELD), (unsigned long long)bytes);
		usleep(10000);
	}
}

static int send_get(const struct fixture *f, const char *path, const char *header)
{
	int fd = raw_client_connect(http_server_port(f->server));
	int receive_buffer = 65536;
	char request[200];

	assert_int_equal(
		setsockopt(fd, SOL_SOCKET, SO_RCVBUF, &receive_buffer, sizeof(receive_buffer)), 0);
	snprintf(request, sizeof(request),
		 "GET %s HTTP/1.1\r\nHost: x\r\nConnection: close\r\n%s\r\n", path, header);
	raw_client_send(fd, request);
	return fd;
}

/* Reads the headers of an answer, and hardly more. */
static unsigned read_status(int fd, char **ret_headers)
{
	AUTO_FREE char *text = raw_client_read(fd, "\r\n\r\n");
	unsigned status;

	assert_int_equal(strncmp(text, "HTTP/1.1 ", 9), 0);
	status = (unsigned)strtoul(text + 9, NULL, 10);
	if (ret_headers)
		*ret_headers = TAKE_PTR(text);
	return status;
}

static unsigned status_of(const struct fixture *f, const char *path, const char *header)
{
	int fd = send_get(f, path, header);
	unsigned status = read_status(fd, NULL);

	close(fd);
	return status;
}

static void fill(const struct fixture *f, int readers[2])
{
	for (size_t i = 0; i < 2; i++) {
		readers[i] = send_get(f, "/large", "");
		assert_int_equal(read_status(readers[i], NULL), 200);
	}
	assert_int_equal(metric(f, HELD), 2 * LARGE_BYTES);
}

TEST_FIXTURE(large_answers_wait_for_those_that_nobody_reads, set_up, tear_down)
{
	struct fixture *f = *state;
	AUTO_FREE char *headers = NULL;
	AUTO_FREE char *rest = NULL;
	int readers[2], fd;

	fill(f, readers);
	fd = send_get(f, "/large", "");
	assert_int_equal(read_status(fd, &headers), 503);
	close(fd);
	assert_non_null(strstr(headers, "\r\nRetry-After: 5\r\n"));
	assert_null(strstr(headers, "X-Of-Body"));
	assert_int_equal(metric(f, REFUSED), 1);
	assert_int_equal(status_of(f, "/ask-first", ""), 507);
	assert_int_equal(metric(f, REFUSED), 2);
	assert_int_equal(metric(f, HELD), 2 * LARGE_BYTES);

	/* one client leaves, the other one reads its answer after all */
	raw_client_reset(readers[0]);
	wait_until_held(f, LARGE_BYTES);
	fd = send_get(f, "/ask-first", "");
	assert_int_equal(read_status(fd, NULL), 200);
	assert_int_equal(metric(f, HELD), 2 * LARGE_BYTES);
	close(fd);
	rest = raw_client_read(readers[1], NULL);
	assert_true(strlen(rest) >= LARGE_BYTES - 4096);
	close(readers[1]);
	wait_until_held(f, 0);
}

TEST_FIXTURE(some_answers_are_always_given, set_up, tear_down)
{
	struct fixture *f = *state;
	int readers[2];

	fill(f, readers);
	for (int i = 0; i < 100; i++)
		assert_int_equal(status_of(f, "/small", ""), 200);
	assert_int_equal(status_of(f, "/essential", ""), 200);
	assert_int_equal(status_of(f, "/asset", ""), 200);
	/* what counts are the bytes that are sent */
	assert_int_equal(status_of(f, "/large", "Accept-Encoding: gzip\r\n"), 200);
	assert_int_equal(metric(f, REFUSED), 0);
	for (size_t i = 0; i < ARRAY_SIZE(readers); i++)
		close(readers[i]);
	wait_until_held(f, 0);
}

/*
 * They read fast enough not to be idle, and are cut off after 2 s. Without that, both would have
 * read nearly all of their answers by the time that there is room.
 */
TEST_FIXTURE(slow_readers_make_room_for_others, set_up_impatient, tear_down)
{
	struct fixture *f = *state;
	size_t n_read = 0;
	int readers[2];

	fill(f, readers);
	for (int i = 0; status_of(f, "/large", "") != 200; i++) {
		assert_true(i < POLLS);
		for (size_t k = 0; k < ARRAY_SIZE(readers); k++) {
			char part[32768];
			ssize_t n = recv(readers[k], part, sizeof(part), MSG_DONTWAIT);

			n_read += n > 0 ? (size_t)n : 0;
		}
		usleep(10000);
	}
	assert_true(n_read < LARGE_BYTES);
	for (size_t i = 0; i < ARRAY_SIZE(readers); i++)
		close(readers[i]);
}

static void *answer_kept(void *fixture)
{
	struct fixture *f = fixture;

	for (int i = 0; i < N_KEPT / N_ANSWERERS; i++)
		respond_bytes(queue_pop(f->kept), MIDDLE_BYTES);
	return NULL;
}

TEST_FIXTURE(answers_of_several_threads_are_all_released, set_up, tear_down)
{
	struct fixture *f = *state;
	pthread_t threads[N_ANSWERERS];
	unsigned n_answered = 0, n_refused = 0;
	int clients[N_KEPT];

	for (size_t i = 0; i < N_KEPT; i++)
		clients[i] = send_get(f, "/kept", "");
	for (size_t i = 0; i < N_ANSWERERS; i++)
		assert_int_equal(pthread_create(&threads[i], NULL, answer_kept, f), 0);
	for (size_t i = 0; i < N_ANSWERERS; i++)
		pthread_join(threads[i], NULL);
	for (size_t i = 0; i < N_KEPT; i++) {
		unsigned status = read_status(clients[i], NULL);

		n_answered += status == 200;
		n_refused += status == 503;
		close(clients[i]);
	}
	assert_int_equal(n_answered + n_refused, N_KEPT);
	assert_true(n_answered >= ROOM_BYTES / MIDDLE_BYTES);
	assert_int_equal(metric(f, REFUSED), n_refused);
	wait_until_held(f, 0);
}
