/* The uploader with an HTTP server on loopback: real sockets, scripted answers. */
#include <errno.h>
#include <stdatomic.h>

#include "common/access/sent_key.h"
#include "common/http/http_server.h"
#include "common/system/clock.h"
#include "common/text/secret.h"
#include "common/upload/upload_item.h"
#include "common/upload/uploader.h"
#include "test/lib/unit.h"

struct fixture {
	struct sent_key *key;
	struct loop *loop;
	struct http_server *server;
	struct http_client *client;
	struct uploader *uploader;
	struct metrics *metrics;
	struct loop_source *deadline;
	_Atomic unsigned n_requests;
	_Atomic unsigned n_refusals; /* answer this many with refusal first */
	unsigned refusal;
	uint64_t fault_every_ns;      /* 0: 1 */
	_Atomic bool fails_on_poison; /* always answer 500 to a body that begins with 'p' */
	bool timed_out;
	char keys[16][64];  /* of the first requests, in order */
	bool is_repeat[16]; /* likewise: what they say */
	unsigned n_keys;
};

static bool is_poison(const struct http_exchange *x)
{
	size_t len;
	const char *body = http_exchange_body(x, &len);

	return len > 0 && body[0] == 'p';
}

static void note_key(struct fixture *f, const struct http_exchange *x)
{
	const char *key = http_exchange_header(x, "Idempotency-Key");

	if (f->n_keys < ARRAY_SIZE(f->keys))
		f->is_repeat[f->n_keys] = http_exchange_header(x, UPLOAD_REPEAT_HEADER) != NULL;
	if (f->n_keys < ARRAY_SIZE(f->keys))
		snprintf(f->keys[f->n_keys++], sizeof(f->keys[0]), "%s", key ? key : "");
}

static void answer(void *ctx, struct http_exchange *x)
{
	struct fixture *f = ctx;

	note_key(f, x);
	atomic_fetch_add(&f->n_requests, 1);
	if (!secret_equal(http_exchange_header(x, "X-Api-Key"), "secret")) {
		http_respond_text(x, 401, "wrong key");
	} else if (f->fails_on_poison && is_poison(x)) {
		http_respond_text(x, 500, "cannot");
	} else if (f->n_refusals > 0) {
		atomic_fetch_sub(&f->n_refusals, 1);
		http_respond_text(x, f->refusal, "not now");
	} else {
		http_respond_text(x, 200, "ok");
	}
}

static void on_deadline(void *ctx)
{
	struct fixture *f = ctx;

	f->timed_out = true;
	loop_stop(f->loop);
}

static void on_idle(void *ctx)
{
	struct fixture *f = ctx;

	loop_stop(f->loop);
}

static void set_up(struct fixture *f, bool with_server, unsigned max_sending, size_t max_items)
{
	const struct http_route routes[] = {
		{"POST", "/v1/profiles", 1 << 20, answer, f},
		{},
	};
	const struct http_server_config server = {
		.listen = "127.0.0.1:0",
		.max_connections = 16,
		.timeout_s = 5,
		.max_body_memory_bytes = 1 << 20,
		.routes = routes,
	};
	AUTO_FREE char *endpoint = NULL;
	struct err err = {""};
	unsigned port = 1; /* nothing listens there */

	assert_int_equal(loop_new(&f->loop), 0);
	assert_int_equal(sent_key_new(&f->key, "secret", NULL, NULL), 0);
	assert_int_equal(metrics_new(&f->metrics), 0);
	if (with_server) {
		assert_int_equal(http_server_new(&f->server, &server, &err), 0);
		port = http_server_port(f->server);
	}
	assert_int_equal(http_client_new(&f->client, f->loop, &(struct http_client_config){0}), 0);
	assert_true(asprintf(&endpoint, "http://127.0.0.1:%u/v1/profiles", port) > 0);
	const struct uploader_config cfg = {
		.endpoint = endpoint,
		.key = f->key,
		.max_items = max_items,
		.max_bytes = 1000,
		.max_sending = max_sending,
		.timeout_ns = 300 * NS_PER_S,
		.retry_min_ns = 5 * NS_PER_MS,
		.retry_max_ns = 20 * NS_PER_MS,
		.slow_retry_max_ns = 20 * NS_PER_MS,
		.fault_every_ns = f->fault_every_ns ? f->fault_every_ns : 1,
	};
	assert_int_equal(uploader_new(&f->uploader, f->loop, f->client, &cfg), 0);
	assert_int_equal(uploader_register_metrics(f->uploader, "test", f->metrics), 0);
	uploader_on_idle(f->uploader, on_idle, f);
	assert_int_equal(loop_add_timer(f->loop, on_deadline, f, &f->deadline), 0);
	loop_set_timer(f->deadline, 300 * NS_PER_S);
}

static void tear_down(struct fixture *f)
{
	metrics_free(f->metrics);
	http_client_free(f->client);
	uploader_free(f->uploader);
	sent_key_free(f->key);
	http_server_free(f->server);
	loop_remove(f->deadline);
	loop_free(f->loop);
}

static void add(struct fixture *f, const char *body)
{
	const struct upload_label labels[] = {{"service.name", "a"}, {}};
	CLEANUP(buf_fini) struct buf b;

	buf_init(&b, 10000);
	assert_int_equal(buf_add(&b, body, strlen(body)), 0);
	assert_int_equal(uploader_add(f->uploader, labels, &b), 0);
}

static void assert_metric(struct fixture *f, const char *line)
{
	CLEANUP(buf_fini) struct buf b;

	buf_init(&b, 1 << 20);
	assert_int_equal(metrics_write(f->metrics, &b), 0);
	if (!strstr(b.data, line))
		fail_msg("no \"%s\" in:\n%s", line, b.data);
}

static void run_until_uploaded(struct fixture *f, unsigned n)
{
	CLEANUP(buf_fini) struct buf b;
	char line[64];
	int tries = 0;

	snprintf(line, sizeof(line), "\ntest_profiles_uploaded_total %u\n", n);
	buf_init(&b, 1 << 20);
	do {
		assert_true(tries++ < 6000);
		loop_set_timer(f->deadline, 10 * NS_PER_MS);
		assert_int_equal(loop_run(f->loop), 0);
		b.len = 0;
		assert_int_equal(metrics_write(f->metrics, &b), 0);
	} while (!strstr(b.data, line));
}

TEST(all_are_sent)
{
	struct fixture f = {0};

	set_up(&f, true, 4, 100);
	for (int i = 0; i < 20; i++)
		add(&f, "profile");
	assert_int_equal(loop_run(f.loop), 0);
	assert_false(f.timed_out);
	assert_int_equal(f.n_requests, 20);
	assert_int_equal(uploader_pending(f.uploader), 0);
	assert_metric(&f, "\ntest_profiles_uploaded_total 20\n");
	assert_metric(&f, "\ntest_profiles_uploaded_bytes_total 140\n");
	tear_down(&f);
}

TEST(a_receiver_that_is_full_is_tried_again)
{
	struct fixture f = {.n_refusals = 5, .refusal = 503};

	set_up(&f, true, 4, 100);
	for (int i = 0; i < 3; i++)
		add(&f, "profile");
	assert_int_equal(loop_run(f.loop), 0);
	assert_false(f.timed_out);
	assert_int_equal(f.n_requests, 8);
	assert_metric(&f, "\ntest_profiles_uploaded_total 3\n");
	assert_metric(&f, "\ntest_profile_upload_retries_total 5\n");
	tear_down(&f);
}

static void note_receipt(void *ctx, uint64_t number, const char *refusal)
{
	char *all = ctx;
	size_t len = strlen(all);

	snprintf(all + len, 200 - len, "%llu: %s; ", (unsigned long long)number,
		 refusal ?: "taken");
}

TEST(the_sender_hears_what_became_of_each_profile)
{
	const struct upload_label labels[] = {{"service.name", "a"}, {}};
	struct fixture f = {.n_refusals = 1, .refusal = 413};
	char receipts[200] = "";

	set_up(&f, true, 1, 100);
	uploader_on_receipt(f.uploader, note_receipt, receipts);
	for (uint64_t number = 7; number <= 8; number++) {
		CLEANUP(buf_fini) struct buf b;

		buf_init(&b, 100);
		assert_int_equal(buf_add(&b, "one", 3), 0);
		assert_int_equal(uploader_add_numbered(f.uploader, number, labels, &b), 0);
	}
	add(&f, "nobody asks");
	assert_int_equal(loop_run(f.loop), 0);
	assert_false(f.timed_out);
	assert_string_equal(receipts,
			    "7: the receiver refused the profile: HTTP 413: not now; 8: taken; ");
	tear_down(&f);
}

TEST(every_attempt_of_a_profile_has_its_key)
{
	struct fixture f = {.n_refusals = 2, .refusal = 503};

	set_up(&f, true, 1, 100);
	add(&f, "one");
	add(&f, "two");
	assert_int_equal(loop_run(f.loop), 0);
	assert_false(f.timed_out);
	assert_int_equal(f.n_keys, 4);
	for (unsigned i = 0; i < f.n_keys; i++)
		assert_true(upload_key_is_valid(f.keys[i], strlen(f.keys[i])));
	/* each profile is sent twice */
	assert_string_not_equal(f.keys[2], f.keys[3]);
	for (unsigned i = 0; i < 2; i++)
		assert_true(strcmp(f.keys[i], f.keys[2]) == 0 || strcmp(f.keys[i], f.keys[3]) == 0);
	tear_down(&f);
}

/* A receiver that says 503 has not taken it; about 500 and 504 nobody knows. */
TEST(an_attempt_after_one_in_doubt_says_so)
{
	static const struct {
		unsigned status;
		bool is_in_doubt;
	} cases[] = {{503, false}, {429, false}, {500, true}, {504, true}};

	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		struct fixture f = {.n_refusals = 2, .refusal = cases[i].status};

		set_up(&f, true, 1, 100);
		add(&f, "one");
		assert_int_equal(loop_run(f.loop), 0);
		assert_false(f.timed_out);
		assert_int_equal(f.n_keys, 3);
		assert_false(f.is_repeat[0]);
		assert_int_equal(f.is_repeat[1], cases[i].is_in_doubt);
		assert_int_equal(f.is_repeat[2], cases[i].is_in_doubt);
		tear_down(&f);
	}
}

TEST(a_refused_profile_does_not_hold_up_the_next)
{
	struct fixture f = {.n_refusals = 1, .refusal = 400};

	set_up(&f, true, 4, 100);
	add(&f, "bad");
	add(&f, "good");
	assert_int_equal(loop_run(f.loop), 0);
	assert_false(f.timed_out);
	assert_metric(&f, "\ntest_profiles_uploaded_total 1\n");
	assert_metric(&f, "\ntest_profiles_dropped_total{reason=\"rejected\"} 1\n");
	tear_down(&f);
}

TEST(what_can_be_mended_drops_nothing)
{
	static const unsigned statuses[] = {301, 307, 401, 403, 404, 405, 408, 409, 410, 418};

	for (size_t i = 0; i < ARRAY_SIZE(statuses); i++) {
		struct fixture f = {.n_refusals = 30, .refusal = statuses[i]};

		set_up(&f, true, 4, 100);
		for (int n = 0; n < 10; n++)
			add(&f, "profile");
		assert_int_equal(loop_run(f.loop), 0);
		assert_false(f.timed_out);
		assert_metric(&f, "\ntest_profiles_uploaded_total 10\n");
		assert_metric(&f, "\ntest_profiles_dropped_total{reason=\"rejected\"} 0\n");
		tear_down(&f);
	}
}

TEST(a_server_that_fails_now_and_then_drops_nothing)
{
	struct fixture f = {.fails_on_poison = true, .fault_every_ns = 3600 * NS_PER_S};
	unsigned n = 0, failed;

	set_up(&f, true, 1, 100);
	add(&f, "poison");
	do {
		add(&f, "good");
		run_until_uploaded(&f, ++n);
		failed = f.n_requests - n;
		assert_true(n < 10000);
	} while (failed < 30);
	assert_int_equal(uploader_pending(f.uploader), 1);
	assert_metric(&f, "\ntest_profiles_dropped_total{reason=\"rejected\"} 0\n");
	f.fails_on_poison = false;
	run_until_uploaded(&f, n + 1);
	assert_int_equal(uploader_pending(f.uploader), 0);
	tear_down(&f);
}

TEST(a_profile_that_the_receiver_fails_on_holds_up_nobody)
{
	struct fixture f = {.fails_on_poison = true};

	set_up(&f, true, 1, 100);
	add(&f, "poison");
	for (int i = 0; i < 3; i++)
		add(&f, "good");
	run_until_uploaded(&f, 3);
	/* the receiver may be in trouble: only success of other profiles shows that it is not */
	assert_int_equal(uploader_pending(f.uploader), 1);

	for (unsigned n = 4; n < 24 && uploader_pending(f.uploader) > 0; n++) {
		add(&f, "good");
		run_until_uploaded(&f, n);
	}
	assert_int_equal(uploader_pending(f.uploader), 0);
	assert_metric(&f, "\ntest_profiles_dropped_total{reason=\"rejected\"} 1\n");
	tear_down(&f);
}

TEST(a_full_queue_loses_the_oldest_and_counts_it)
{
	struct fixture f = {0};
	char big[601];

	memset(big, 'x', 600);
	big[600] = '\0';
	set_up(&f, false, 1, 3);
	for (int i = 0; i < 10; i++)
		add(&f, "profile");
	assert_int_equal(uploader_pending(f.uploader), 3);
	assert_metric(&f, "\ntest_profiles_dropped_total{reason=\"queue_full\"} 7\n");
	add(&f, big);
	add(&f, big); /* two of them exceed the limit of bytes */
	assert_int_equal(uploader_pending(f.uploader), 2);
	assert_metric(&f, "\ntest_profiles_dropped_total{reason=\"queue_full\"} 10\n");
	assert_metric(&f, "\ntest_upload_queue_bytes 607\n");
	loop_set_timer(f.deadline, 100 * NS_PER_MS);
	assert_int_equal(loop_run(f.loop), 0);
	assert_metric(&f, "\ntest_profiles_uploaded_total 0\n");
	tear_down(&f);
}
