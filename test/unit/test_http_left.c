/* What a kept exchange learns of its client. */
#include <pthread.h>
#include <sys/socket.h>

#include "common/http/http_server.h"
#include "common/thread/queue.h"
#include "test/lib/raw_client.h"
#include "test/lib/unit.h"

#define REQUEST "GET /kept HTTP/1.1\r\nHost: x\r\n\r\n"
#define OLD_REQUEST "GET /kept HTTP/1.0\r\n\r\n"
#define N_RACES 300
#define N_RACERS 4

/* An exchange that was kept. */
struct kept {
	struct http_exchange *x;
	_Atomic int n_left;
	struct queue *left; /* gets this once the client has left */
};

struct fixture {
	struct http_server *server;
	struct queue *kept; /* struct kept, watched */
	struct queue *left;
	bool watch_later;
};

static void on_left(void *ctx)
{
	struct kept *k = ctx;

	atomic_fetch_add(&k->n_left, 1);
	assert_int_equal(queue_push(k->left, k), 0);
}

static void keep(void *ctx, struct http_exchange *x)
{
	struct fixture *f = ctx;
	struct kept *k = calloc(1, sizeof(*k));

	k->x = x;
	k->left = f->left;
	if (!f->watch_later)
		http_exchange_on_left(x, on_left, k);
	assert_int_equal(queue_push(f->kept, k), 0);
}

/* Answers its own exchange. */
static void answer_on_left(void *ctx)
{
	struct kept *k = ctx;

	http_respond_text(k->x, 499, "you left");
	assert_int_equal(queue_push(k->left, k), 0);
}

static void keep_until_left(void *ctx, struct http_exchange *x)
{
	struct fixture *f = ctx;
	struct kept *k = calloc(1, sizeof(*k));

	k->x = x;
	k->left = f->left;
	http_exchange_on_left(x, answer_on_left, k);
}

/* The client may leave at any moment from here on. */
static void keep_shortly(void *ctx, struct http_exchange *x)
{
	struct fixture *f = ctx;

	assert_int_equal(queue_push(f->kept, x), 0);
}

static int set_up(void **state)
{
	struct fixture *f = calloc(1, sizeof(*f));
	const struct http_route routes[] = {
		{"GET", "/kept", 0, keep, f},
		{"POST", "/kept", 100, keep, f},
		{"GET", "/until-left", 0, keep_until_left, f},
		{"GET", "/shortly", 0, keep_shortly, f},
		{0},
	};
	const struct http_server_config cfg = {
		.listen = "127.0.0.1:0",
		.n_threads = 2,
		.max_connections = 100,
		.timeout_s = 300,
		.max_body_memory_bytes = 1 << 20,
		.routes = routes,
	};

	*state = f;
	assert_int_equal(queue_new(&f->kept, (size_t)N_RACES * N_RACERS), 0);
	assert_int_equal(queue_new(&f->left, (size_t)N_RACES * N_RACERS), 0);
	return http_server_new(&f->server, &cfg, NULL);
}

static int tear_down(void **state)
{
	struct fixture *f = *state;

	http_server_free(f->server);
	queue_free(f->kept);
	queue_free(f->left);
	free(f);
	return 0;
}

static int connect_to(struct fixture *f)
{
	return raw_client_connect(http_server_port(f->server));
}

TEST_FIXTURE(a_client_that_closes_its_connection_has_left, set_up, tear_down)
{
	struct fixture *f = *state;

	for (int i = 0; i < 4; i++) {
		int fd = connect_to(f);
		struct kept *k;

		raw_client_send(fd, i & 1 ? OLD_REQUEST : REQUEST);
		k = queue_pop(f->kept);
		assert_int_equal(atomic_load(&k->n_left), 0);
		if (i & 2)
			raw_client_reset(fd);
		else
			close(fd);
		assert_ptr_equal(queue_pop(f->left), k);
		http_respond_text(k->x, 200, "too late");
		assert_int_equal(atomic_load(&k->n_left), 1);
		free(k);
	}
}

TEST_FIXTURE(a_client_that_left_before_it_was_watched_is_noticed, set_up, tear_down)
{
	struct fixture *f = *state;
	int fd = connect_to(f);
	struct kept *k;

	f->watch_later = true;
	raw_client_send(fd, REQUEST);
	k = queue_pop(f->kept);
	close(fd);
	http_exchange_on_left(k->x, on_left, k);
	assert_ptr_equal(queue_pop(f->left), k);
	http_respond_text(k->x, 200, "too late");
	free(k);
}

TEST_FIXTURE(a_client_that_waits_with_its_own_direction_closed_gets_its_answer, set_up, tear_down)
{
	struct fixture *f = *state;
	AUTO_CLOSE int fd = connect_to(f);
	AUTO_FREE char *interim = NULL;
	AUTO_FREE char *answer = NULL;
	struct kept *k;

	raw_client_send(fd, REQUEST);
	k = queue_pop(f->kept);
	assert_int_equal(shutdown(fd, SHUT_WR), 0);
	interim = raw_client_read(fd, "\r\n\r\n");
	assert_string_equal(interim, "HTTP/1.1 100 Continue\r\n\r\n");
	http_respond_text(k->x, 200, "still here");
	answer = raw_client_read(fd, NULL);
	assert_non_null(strstr(answer, "HTTP/1.1 200 OK\r\n"));
	assert_non_null(strstr(answer, "\r\n\r\nstill here\n"));
	assert_int_equal(atomic_load(&k->n_left), 0);
	free(k);
}

TEST_FIXTURE(a_client_that_first_waits_and_then_closes_has_left, set_up, tear_down)
{
	struct fixture *f = *state;
	int fd = connect_to(f);
	AUTO_FREE char *interim = NULL;
	struct kept *k;

	raw_client_send(fd, REQUEST);
	k = queue_pop(f->kept);
	assert_int_equal(shutdown(fd, SHUT_WR), 0);
	interim = raw_client_read(fd, "\r\n\r\n");
	assert_int_equal(atomic_load(&k->n_left), 0);
	raw_client_reset(fd);
	assert_ptr_equal(queue_pop(f->left), k);
	http_respond_text(k->x, 200, "too late");
	free(k);
}

TEST_FIXTURE(a_client_that_sends_its_next_request_has_not_left, set_up, tear_down)
{
	struct fixture *f = *state;
	AUTO_CLOSE int fd = connect_to(f);

	raw_client_send(fd, REQUEST REQUEST);
	for (int i = 0; i < 2; i++) {
		struct kept *k = queue_pop(f->kept);
		AUTO_FREE char *answer = NULL;

		http_respond_text(k->x, 200, "answer");
		answer = raw_client_read(fd, "answer\n");
		assert_int_equal(strncmp(answer, "HTTP/1.1 200", 12), 0);
		assert_int_equal(atomic_load(&k->n_left), 0);
		free(k);
	}
}

TEST_FIXTURE(who_learns_that_the_client_left_may_answer_at_once, set_up, tear_down)
{
	struct fixture *f = *state;

	for (int i = 0; i < 20; i++) {
		int fd = connect_to(f);

		raw_client_send(fd, "GET /until-left HTTP/1.1\r\nHost: x\r\n\r\n");
		close(fd);
		free(queue_pop(f->left));
	}
}

/* Answers each exchange at once; what its left() would get is freed after that. */
static void *answer_kept(void *fixture)
{
	struct fixture *f = fixture;
	struct http_exchange *x;

	while ((x = queue_pop(f->kept))) {
		struct kept *k = calloc(1, sizeof(*k));

		k->left = f->left;
		http_exchange_on_left(x, on_left, k);
		if (rand() % 2)
			sched_yield();
		http_respond_text(x, 200, "ok");
		free(k);
	}
	return NULL;
}

/* Empties the queue of those that left. */
static void *forget_left(void *fixture)
{
	struct fixture *f = fixture;

	while (queue_pop(f->left))
		;
	return NULL;
}

static void *leave_often(void *fixture)
{
	struct fixture *f = fixture;

	for (int i = 0; i < N_RACES; i++) {
		int fd = connect_to(f);

		raw_client_send(fd, "GET /shortly HTTP/1.1\r\nHost: x\r\n\r\n");
		if (i % 3 == 0)
			raw_client_reset(fd);
		else
			close(fd);
	}
	return NULL;
}

TEST_FIXTURE(nobody_is_called_after_the_answer, set_up, tear_down)
{
	struct fixture *f = *state;
	pthread_t answering[2], leaving[N_RACERS], forgetting;

	assert_int_equal(pthread_create(&forgetting, NULL, forget_left, f), 0);
	for (size_t i = 0; i < ARRAY_SIZE(answering); i++)
		assert_int_equal(pthread_create(&answering[i], NULL, answer_kept, f), 0);
	for (size_t i = 0; i < ARRAY_SIZE(leaving); i++)
		assert_int_equal(pthread_create(&leaving[i], NULL, leave_often, f), 0);
	for (size_t i = 0; i < ARRAY_SIZE(leaving); i++)
		assert_int_equal(pthread_join(leaving[i], NULL), 0);
	/* what the clients sent last is still read and answered */
	http_server_free(f->server);
	f->server = NULL;
	queue_close(f->kept);
	for (size_t i = 0; i < ARRAY_SIZE(answering); i++)
		assert_int_equal(pthread_join(answering[i], NULL), 0);
	queue_close(f->left);
	assert_int_equal(pthread_join(forgetting, NULL), 0);
}

int main(void)
{
	return unit_run(NULL, NULL);
}
