/*
 * The uploader and a receiver whose clock differs from ours: real sockets, and the "Date" that the
 * test wants.
 */
#include <pthread.h>
#include <stdatomic.h>
#include <time.h>

#include "common/access/sent_key.h"
#include "common/http/http_server.h"
#include "common/pprof/pprof_decode.h"
#include "common/pprof/pprof_encode.h"
#include "common/system/clock.h"
#include "common/upload/receiver_clock.h"
#include "common/upload/uploader.h"
#include "test/lib/made_profile.h"
#include "test/lib/unit.h"

#define S ((int64_t)NS_PER_S)
#define PATIENCE_NS (300 * NS_PER_S)
#define MAX_RECEIVED 64u
#define TOLERANCE_NS (3 * S)

struct fixture {
	const char *dir;
	/* the receiver */
	struct http_server *server;
	_Atomic int64_t ahead_s; /* of our clock */
	_Atomic bool has_date;
	_Atomic unsigned status;
	_Atomic unsigned n_attempts;
	pthread_mutex_t lock;
	int64_t times_ns[MAX_RECEIVED]; /* under the lock */
	char skews[MAX_RECEIVED][32];
	unsigned n_received;
	/* the sender */
	struct sent_key *key;
	struct loop *loop;
	struct http_client *client;
	struct uploader *uploader;
	struct metrics *metrics;
	struct loop_source *timer;
};

static void note(struct fixture *f, const struct http_exchange *x)
{
	CLEANUP(arena_fini) struct arena arena;
	struct profile p;
	size_t len;
	const char *body = http_exchange_body(x, &len);
	const char *skew = http_exchange_header(x, RECEIVER_CLOCK_HEADER);

	arena_init(&arena, 1 << 20);
	assert_int_equal(pprof_decode(&p, &arena, body, len, NULL), 0);
	pthread_mutex_lock(&f->lock);
	assert_true(f->n_received < MAX_RECEIVED);
	f->times_ns[f->n_received] = p.time_ns;
	snprintf(f->skews[f->n_received++], sizeof(f->skews[0]), "%s", skew ? skew : "");
	pthread_mutex_unlock(&f->lock);
}

static void answer(void *ctx, struct http_exchange *x)
{
	struct fixture *f = ctx;
	unsigned status = atomic_load(&f->status);
	time_t now = (time_t)(time(NULL) + atomic_load(&f->ahead_s));
	char date[64];
	struct tm tm;

	atomic_fetch_add(&f->n_attempts, 1);
	if (status == 200)
		note(f, x);
	strftime(date, sizeof(date), "%a, %d %b %Y %H:%M:%S GMT", gmtime_r(&now, &tm));
	if (f->has_date)
		assert_int_equal(http_exchange_set_header(x, "Date", date), 0);
	else
		assert_int_equal(http_exchange_set_header(x, "Date", "today"), 0);
	http_respond_text(x, status, "%u", status);
}

static void on_timer(void *ctx)
{
	struct fixture *f = ctx;

	loop_stop(f->loop);
}

static void start_sender(struct fixture *f)
{
	AUTO_FREE char *endpoint = NULL;

	assert_int_equal(loop_new(&f->loop), 0);
	assert_int_equal(sent_key_new(&f->key, "", NULL, NULL), 0);
	assert_int_equal(metrics_new(&f->metrics), 0);
	assert_int_equal(loop_add_timer(f->loop, on_timer, f, &f->timer), 0);
	assert_int_equal(http_client_new(&f->client, f->loop, &(struct http_client_config){0}), 0);
	assert_true(asprintf(&endpoint, "http://127.0.0.1:%u/v1/profiles",
			     http_server_port(f->server)) > 0);
	const struct uploader_config cfg = {
		.endpoint = endpoint,
		.key = f->key,
		.max_items = 1000,
		.max_bytes = 1 << 20,
		.max_sending = 4,
		.timeout_ns = PATIENCE_NS,
		.retry_min_ns = 2 * NS_PER_MS,
		.retry_max_ns = 20 * NS_PER_MS,
		.slow_retry_max_ns = 20 * NS_PER_MS,
		.spool_dir = f->dir,
		.spool_max_bytes = 64 << 20,
	};
	assert_int_equal(uploader_new(&f->uploader, f->loop, f->client, &cfg), 0);
	assert_int_equal(uploader_register_metrics(f->uploader, "test", f->metrics), 0);
}

static void stop_sender(struct fixture *f)
{
	metrics_free(f->metrics);
	http_client_free(f->client);
	uploader_free(f->uploader);
	sent_key_free(f->key);
	loop_free(f->loop);
}

static void set_up(struct fixture *f)
{
	const struct http_route routes[] = {{"POST", "/v1/profiles", 1 << 20, answer, f}, {}};
	const struct http_server_config server = {
		.listen = "127.0.0.1:0",
		.max_connections = 16,
		.timeout_s = 300,
		.max_body_memory_bytes = 1 << 24,
		.routes = routes,
	};
	struct err err = {""};

	*f = (struct fixture){.status = 200, .has_date = true};
	pthread_mutex_init(&f->lock, NULL);
	f->dir = temp_dir();
	assert_int_equal(http_server_new(&f->server, &server, &err), 0);
	start_sender(f);
}

static void tear_down(struct fixture *f)
{
	stop_sender(f);
	http_server_free(f->server);
	pthread_mutex_destroy(&f->lock);
}

static void add(struct fixture *f)
{
	static const struct made_sample samples[] = {{{0}, 1, {3}}};
	const struct upload_label labels[] = {{"service.name", "a"}, {}};
	CLEANUP(arena_fini) struct arena arena;
	CLEANUP(buf_fini) struct buf b;
	struct profile p;

	arena_init(&arena, 1 << 20);
	buf_init(&b, 1 << 20);
	p = made_profile(&arena, "ebpf:cpu:nanoseconds/nanoseconds", samples, 1);
	p.time_ns = (int64_t)clock_realtime_ns();
	assert_int_equal(pprof_encode(&p, &b), 0);
	assert_int_equal(uploader_add(f->uploader, labels, &b), 0);
}

static unsigned n_received(struct fixture *f)
{
	unsigned n;

	pthread_mutex_lock(&f->lock);
	n = f->n_received;
	pthread_mutex_unlock(&f->lock);
	return n;
}

static void wait_for_received(struct fixture *f, unsigned n)
{
	uint64_t end_ns = clock_monotonic_ns() + PATIENCE_NS;

	while (n_received(f) < n || uploader_pending(f->uploader) > 0) {
		assert_true(clock_monotonic_ns() < end_ns);
		loop_set_timer(f->timer, 2 * NS_PER_MS);
		assert_int_equal(loop_run(f->loop), 0);
	}
}

static double metric(struct fixture *f, const char *name)
{
	CLEANUP(buf_fini) struct buf b;
	char line[128];
	const char *at;

	buf_init(&b, 1 << 20);
	assert_int_equal(metrics_write(f->metrics, &b), 0);
	snprintf(line, sizeof(line), "\n%s ", name);
	at = strstr(b.data, line);
	if (!at)
		fail_msg("no %s in:\n%s", name, b.data);
	return strtod(at + strlen(line), NULL);
}

/* The n-th profile that was received, counted from 0, was made this long ago by our clock. */
static void expect_time(struct fixture *f, unsigned n, int64_t ahead_s)
{
	int64_t off_ns = f->times_ns[n] - ((int64_t)clock_realtime_ns() + ahead_s * S);

	if (off_ns < -60 * S || off_ns > TOLERANCE_NS)
		fail_msg("profile %u is off by %lld s", n, (long long)(off_ns / S));
}

TEST(times_are_corrected_by_the_receivers_date)
{
	static const int64_t ahead_s[] = {-7200, 3000, 30 * 86400, -50 * 60};

	for (size_t i = 0; i < ARRAY_SIZE(ahead_s); i++) {
		CLEANUP(tear_down) struct fixture f;

		set_up(&f);
		f.ahead_s = ahead_s[i];
		for (int n = 0; n < 8; n++)
			add(&f);
		wait_for_received(&f, 8);
		/* nothing was known for the first one, which is sent alone */
		expect_time(&f, 0, 0);
		assert_string_equal(f.skews[0], "");
		for (unsigned n = 1; n < 8; n++) {
			expect_time(&f, n, ahead_s[i]);
			assert_true(llabs(strtoll(f.skews[n], NULL, 10) + ahead_s[i]) <= 2);
		}
		assert_true(metric(&f, "test_profiles_clock_corrected_total") == 7);
		assert_true(metric(&f, "test_clock_ahead_seconds") +
				    metric(&f, "test_clock_behind_seconds") >=
			    (double)llabs(ahead_s[i]) - 2);
	}
}

TEST(a_profile_that_is_sent_again_and_again_is_counted_once)
{
	CLEANUP(tear_down) struct fixture f;
	uint64_t end_ns = clock_monotonic_ns() + PATIENCE_NS;

	set_up(&f);
	f.ahead_s = 7200;
	add(&f);
	wait_for_received(&f, 1);
	f.status = 503;
	for (int n = 0; n < 4; n++)
		add(&f);
	while (f.n_attempts < 20) {
		assert_true(clock_monotonic_ns() < end_ns);
		loop_set_timer(f.timer, 2 * NS_PER_MS);
		assert_int_equal(loop_run(f.loop), 0);
	}
	assert_true(metric(&f, "test_profiles_clock_corrected_total") == 0);
	f.status = 200;
	wait_for_received(&f, 5);
	assert_true(metric(&f, "test_profiles_clock_corrected_total") == 4);
}

TEST(a_right_clock_changes_nothing)
{
	CLEANUP(tear_down) struct fixture f;

	set_up(&f);
	for (int n = 0; n < 8; n++)
		add(&f);
	wait_for_received(&f, 8);
	f.has_date = false;
	for (int n = 0; n < 8; n++)
		add(&f);
	wait_for_received(&f, 16);
	for (unsigned n = 0; n < 16; n++)
		assert_string_equal(f.skews[n], "");
	assert_true(metric(&f, "test_profiles_clock_corrected_total") == 0);
	assert_true(metric(&f, "test_clock_ahead_seconds") == 0);
}

TEST(a_receiver_without_a_date_gets_all_the_same)
{
	CLEANUP(tear_down) struct fixture f;

	set_up(&f);
	f.has_date = false;
	for (int n = 0; n < 8; n++)
		add(&f);
	wait_for_received(&f, 8);
	for (unsigned n = 0; n < 8; n++)
		expect_time(&f, n, 0);
}

TEST(what_waited_on_disk_is_corrected_too)
{
	CLEANUP(tear_down) struct fixture f;

	set_up(&f);
	/* made before the receiver has ever answered */
	f.status = 503;
	f.has_date = false;
	add(&f);
	add(&f);
	stop_sender(&f);
	start_sender(&f);
	f.status = 200;
	f.has_date = true;
	f.ahead_s = -7200;
	wait_for_received(&f, 2);
	expect_time(&f, 0, 0);
	expect_time(&f, 1, -7200);
	/* made when our clock was two hours ahead, which is known; it is right by now */
	f.status = 503;
	add(&f);
	add(&f);
	stop_sender(&f);
	start_sender(&f);
	f.status = 200;
	f.ahead_s = 0;
	wait_for_received(&f, 4);
	expect_time(&f, 2, -7200);
	expect_time(&f, 3, -7200);
	assert_string_equal(f.skews[3], "");
}
