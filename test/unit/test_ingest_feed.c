/*
 * The feed over a fake ingest: ingest_submit() below replaces that of ingest.c and keeps
 * uploads until the test answers them.
 */
#include <errno.h>

#include "cluster-agent/ingest/ingest_feed.h"
#include "common/system/clock.h"
#include "test/lib/unit.h"

#define MAX_TAKEN 256

/* Uploads that were submitted and are not answered yet. */
static struct {
	struct ingest_upload *taken[MAX_TAKEN];
	size_t n_taken;
	size_t n_total;
	size_t room;
} fake;

int ingest_submit(struct ingest *in, struct ingest_upload *u)
{
	(void)in;
	if (fake.n_taken == fake.room)
		return -EAGAIN;
	fake.taken[fake.n_taken++] = u;
	fake.n_total++;
	return 0;
}

struct fixture {
	struct loop *loop;
	struct loop_source *end;
	struct ingest_feed *feed;
	struct metrics *metrics;
	uint64_t n_put;
	char receipts[512]; /* "1: taken; 2: why" */
};

static void on_receipt(void *ctx, uint64_t number, const char *refusal)
{
	struct fixture *f = ctx;
	size_t len = strlen(f->receipts);

	snprintf(f->receipts + len, sizeof(f->receipts) - len, "%llu: %s; ",
		 (unsigned long long)number, refusal ?: "taken");
}

static void stop(void *loop)
{
	loop_stop(loop);
}

static void turn(struct fixture *f, uint64_t ms)
{
	loop_set_timer(f->end, ms * NS_PER_MS);
	assert_int_equal(loop_run(f->loop), 0);
}

/* Until ingest has as many uploads, which may take minutes on a busy machine. */
static void turn_until_taken(struct fixture *f, size_t n)
{
	for (int ms = 0; ms < 300000 && fake.n_taken < n; ms++)
		turn(f, 1);
	assert_int_equal(fake.n_taken, n);
}

static void answer_all(enum ingest_outcome outcome)
{
	size_t n = fake.n_taken;
	struct ingest_upload *taken[MAX_TAKEN];

	memcpy(taken, fake.taken, sizeof(taken));
	fake.n_taken = 0;
	for (size_t i = 0; i < n; i++)
		taken[i]->done(taken[i]->ctx, outcome, "because");
}

static void set_up(struct fixture *f, size_t max_items, size_t max_bytes)
{
	memset(&fake, 0, sizeof(fake));
	fake.room = MAX_TAKEN;
	memset(f, 0, sizeof(*f));
	assert_int_equal(loop_new(&f->loop), 0);
	assert_int_equal(loop_add_timer(f->loop, stop, f->loop, &f->end), 0);
	assert_int_equal(metrics_new(&f->metrics), 0);
	assert_int_equal(ingest_feed_new(&f->feed,
					 &(struct ingest_feed_config){
						 .loop = f->loop,
						 .max_items = max_items,
						 .max_bytes = max_bytes,
						 .retry_min_ns = NS_PER_MS,
						 .retry_max_ns = 2 * NS_PER_MS,
						 .on_receipt = on_receipt,
						 .receipt_ctx = f,
					 }),
			 0);
	assert_int_equal(ingest_feed_register(f->feed, f->metrics), 0);
}

static void tear_down(struct fixture *f)
{
	ingest_feed_free(f->feed);
	metrics_free(f->metrics);
	loop_free(f->loop);
}

static void put(struct fixture *f, const char *text)
{
	const struct upload_label labels[] = {
		{"service.name", "/k8s/shop/catalog"},
		{"namespace", "shop"},
		{"pod", "catalog-1"},
		{"node", "worker-7"},
		{"port", ""},
		{},
	};
	CLEANUP(buf_fini) struct buf body;

	buf_init(&body, 1024);
	assert_int_equal(buf_add(&body, text, strlen(text)), 0);
	ingest_feed_put(f->feed, ++f->n_put, labels, &body);
}

/* As many as the scraper gives: pods with keys of three lists, containers with labels of theirs. */
TEST(many_labels_arrive)
{
	CLEANUP(buf_fini) struct buf body;
	struct upload_label labels[62] = {{"service.name", "/docker/cart"}};
	char names[60][8];
	struct fixture f;

	set_up(&f, 0, 0);
	for (size_t i = 0; i < ARRAY_SIZE(names); i++) {
		snprintf(names[i], sizeof(names[i]), "l%zu", i);
		labels[i + 1] = (struct upload_label){names[i], names[i]};
	}
	buf_init(&body, 1024);
	assert_int_equal(buf_add(&body, "pprof", 5), 0);
	ingest_feed_put(f.feed, 1, labels, &body);
	assert_int_equal(fake.n_taken, 1);
	assert_int_equal(fake.taken[0]->n_labels, 60);
	assert_string_equal(fake.taken[0]->labels[59].name.data, "l59");
	assert_string_equal(fake.taken[0]->labels[59].value.data, "l59");
	answer_all(INGEST_STORED);
	turn(&f, 5);
	tear_down(&f);
}

static void shows(struct fixture *f, const char *line)
{
	CLEANUP(buf_fini) struct buf out;

	buf_init(&out, 65536);
	assert_int_equal(metrics_write(f->metrics, &out), 0);
	if (!strstr(out.data, line))
		fail_msg("no \"%s\" in:\n%s", line, out.data);
}

TEST(a_profile_reaches_ingest_with_its_labels)
{
	struct fixture f;
	struct ingest_upload *u;

	set_up(&f, 0, 0);
	put(&f, "pprof");
	assert_int_equal(fake.n_taken, 1);
	u = fake.taken[0];
	assert_memory_equal(u->body, "pprof", 5);
	assert_int_equal(u->len, 5);
	assert_memory_equal(u->service.data, "/k8s/shop/catalog", u->service.len + 1);
	assert_memory_equal(u->host.data, "worker-7", u->host.len + 1);
	assert_int_equal(u->n_labels, 3);
	assert_memory_equal(u->labels[1].name.data, "pod", 4);
	assert_memory_equal(u->labels[1].value.data, "catalog-1", 10);
	shows(&f, "scraped_profiles_waiting 1\n");
	answer_all(INGEST_STORED);
	turn(&f, 5);
	shows(&f, "scraped_profiles_stored_total 1\n");
	shows(&f, "scraped_profiles_waiting 0\n");
	shows(&f, "scraped_profiles_waiting_bytes 0\n");
	tear_down(&f);
}

TEST(what_the_store_cannot_take_is_submitted_again)
{
	struct fixture f;

	set_up(&f, 0, 0);
	put(&f, "one");
	answer_all(INGEST_FAILED);
	turn_until_taken(&f, 1);
	answer_all(INGEST_BUSY);
	turn_until_taken(&f, 1);
	answer_all(INGEST_STORED);
	turn(&f, 20);
	assert_int_equal(fake.n_total, 3);
	shows(&f, "scraped_profiles_stored_total 1\n");
	shows(&f, "scraped_profile_retries_total 2\n");
	tear_down(&f);
}

TEST(a_full_ingest_is_retried)
{
	struct fixture f;

	set_up(&f, 0, 0);
	fake.room = 0;
	put(&f, "one");
	put(&f, "two");
	turn(&f, 5);
	assert_int_equal(fake.n_total, 0);
	fake.room = MAX_TAKEN;
	turn_until_taken(&f, 2);
	assert_int_equal(fake.n_total, 2);
	answer_all(INGEST_STORED);
	turn(&f, 5);
	shows(&f, "scraped_profiles_stored_total 2\n");
	tear_down(&f);
}

TEST(a_refused_profile_is_dropped_and_counted)
{
	struct fixture f;

	set_up(&f, 0, 0);
	put(&f, "bad");
	answer_all(INGEST_BAD_PROFILE);
	turn(&f, 5);
	assert_int_equal(fake.n_total, 1);
	shows(&f, "dropped_total{reason=\"refused\"} 1\n");
	tear_down(&f);
}

TEST(the_sender_hears_what_became_of_each_profile)
{
	struct fixture f;

	set_up(&f, 2, 0);
	put(&f, "one");
	answer_all(INGEST_BUSY);
	turn_until_taken(&f, 1);
	assert_string_equal(f.receipts, "");
	answer_all(INGEST_STORED);
	turn(&f, 5);
	put(&f, "two");
	answer_all(INGEST_TOO_LARGE);
	turn(&f, 5);
	assert_string_equal(f.receipts, "1: taken; 2: the store refused the profile: because; ");
	fake.room = 0;
	for (int i = 0; i < 3; i++)
		put(&f, "x");
	assert_non_null(strstr(f.receipts, "3: dropped: the store takes nothing"));
	tear_down(&f);
}

TEST(the_oldest_is_dropped_beyond_the_bounds_on_number_and_bytes)
{
	struct fixture f;

	set_up(&f, 2, 0);
	fake.room = 0;
	put(&f, "1");
	put(&f, "2");
	put(&f, "3");
	shows(&f, "dropped_total{reason=\"queue_full\"} 1\n");
	fake.room = MAX_TAKEN;
	turn(&f, 20);
	assert_int_equal(fake.n_taken, 2);
	for (size_t i = 0; i < 2; i++)
		assert_memory_not_equal(fake.taken[i]->body, "1", 1);
	answer_all(INGEST_STORED);
	turn(&f, 5);
	tear_down(&f);

	set_up(&f, 0, 10);
	fake.room = 0;
	put(&f, "123456");
	put(&f, "abcdef");
	shows(&f, "dropped_total{reason=\"queue_full\"} 1\n");
	shows(&f, "scraped_profiles_waiting_bytes 6\n");
	tear_down(&f);
}

TEST(what_waits_at_the_end_is_flushed_or_counted)
{
	struct fixture f;

	set_up(&f, 0, 0);
	fake.room = 1;
	for (int i = 0; i < 4; i++)
		put(&f, "x");
	fake.room = 3;
	ingest_feed_flush(f.feed);
	assert_int_equal(fake.n_taken, 3);
	shows(&f, "dropped_total{reason=\"shutdown\"} 1\n");
	answer_all(INGEST_STORED);
	tear_down(&f);
}

TEST(a_backlog_is_submitted_in_parts)
{
	struct fixture f;

	set_up(&f, 0, 0);
	for (int i = 0; i < 200; i++)
		put(&f, "x");
	assert_in_range(fake.n_taken, 1, 199);
	for (int i = 0; i < 10; i++) {
		answer_all(INGEST_STORED);
		turn(&f, 2);
	}
	shows(&f, "scraped_profiles_stored_total 200\n");
	tear_down(&f);
}

static int make(void *loop)
{
	struct ingest_feed *f;
	int r = ingest_feed_new(&f, &(struct ingest_feed_config){.loop = loop});

	if (r == 0)
		ingest_feed_free(f);
	return r;
}

TEST(running_out_of_memory_is_an_error)
{
	struct loop *loop;

	assert_int_equal(loop_new(&loop), 0);
	check_oom(make, loop);
	loop_free(loop);
}
