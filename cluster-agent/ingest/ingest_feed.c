/*
 * The buffer between the scraper, which cannot be asked to scrape again, and ingest, which may
 * refuse.
 *
 * An HTTP sender keeps its profile until it is answered with 200; a scraped profile has no such
 * sender, so the feed acts as one: it keeps the profile, submits it, retries with back-off what
 * was refused for now, and drops what is refused for good.
 *
 *	put ─► ring of waiting items ─► ingest (MAX_SUBMITTED) ─► answered ─► settle
 *	             ▲                                                          │
 *	             └──────────── refused for now: retried after a pause ──────┘
 *
 * Everything but on_answer() runs on the loop thread. Answers come from other threads through a
 * queue that has room for every item, so on_answer() cannot fail; it must not, as the item
 * would leak.
 *
 * MAX_SUBMITTED keeps most of the backlog here, where it costs bytes of pprof and can be
 * dropped oldest first, and not in the queues of ingest, where it would push uploads of
 * node-agents aside.
 */
#include "cluster-agent/ingest/ingest_feed.h"

#include <errno.h>
#include <stdatomic.h>

#include "common/http/backoff.h"
#include "common/system/clock.h"
#include "common/telemetry/log.h"
#include "common/thread/queue.h"

#define DEFAULT_MAX_ITEMS 8192u
#define DEFAULT_MAX_BYTES ((size_t)64 * 1024 * 1024)
#define DEFAULT_RETRY_MIN_NS (500 * NS_PER_MS)
#define DEFAULT_RETRY_MAX_NS (10 * NS_PER_S)
/* Enough for a group commit of the store, few enough to leave room for uploads over HTTP. */
#define MAX_SUBMITTED 64u

enum feed_metric {
	STORED,
	RETRIES,
	DROPPED_QUEUE_FULL,
	DROPPED_REFUSED,
	DROPPED_SHUTDOWN,
	DROPPED_MEMORY,
	WAITING,
	WAITING_BYTES,
	FEED_METRIC_MAX,
};

struct item {
	struct ingest_feed *feed;
	struct ingest_upload upload;
	enum ingest_outcome outcome;
	char *refusal; /* why ingest refused it for good; NULL if it did not, or without memory */
	uint64_t receipt;
	size_t body_len;
	char *body;
	struct row_label labels[]; /* then their texts, and the service's */
};

struct ingest_feed {
	struct ingest *ingest;
	struct loop_source *wake;
	struct loop_source *retry;
	struct backoff backoff;
	struct queue *answered; /* items with an outcome */
	size_t max_bytes;
	size_t n_bytes; /* waiting and submitted */
	size_t n_submitted;
	bool paused;
	bool failing; /* logged already */
	upload_receipt_fn *on_receipt;
	void *receipt_ctx;
	/* waiting, oldest first: a ring */
	struct item **ring;
	size_t capacity;
	size_t first;
	size_t n_waiting;
	struct metric metrics[FEED_METRIC_MAX];
};

#define PREFIX "coroot_cluster_agent_scraped_profile"
#define DROPPED(reason)                                    \
	PREFIX "s_dropped_total", "reason=\"" reason "\"", \
		"Scraped profiles that were lost, by reason"

static const struct metric_def metric_defs[FEED_METRIC_MAX] = {
	[STORED] = {PREFIX "s_stored_total", NULL, "Scraped profiles whose rows are durable"},
	[RETRIES] = {PREFIX "_retries_total", NULL,
		     "Scraped profiles that the store was too busy to take and that were retried"},
	[DROPPED_QUEUE_FULL] = {DROPPED("queue_full")},
	[DROPPED_REFUSED] = {DROPPED("refused")},
	[DROPPED_SHUTDOWN] = {DROPPED("shutdown")},
	[DROPPED_MEMORY] = {DROPPED("memory")},
	[WAITING] = {PREFIX "s_waiting", NULL, "Scraped profiles not stored yet", METRIC_GAUGE},
	[WAITING_BYTES] = {PREFIX "s_waiting_bytes", NULL,
			   "Bytes of scraped profiles not stored yet", METRIC_GAUGE},
};
METRIC_TABLE(metric_table, metric_defs);

static void item_free(struct item *it)
{
	free(it->refusal);
	free(it->body);
	free(it);
}

static void show(struct ingest_feed *f)
{
	metric_set(&f->metrics[WAITING], f->n_waiting + f->n_submitted);
	metric_set(&f->metrics[WAITING_BYTES], f->n_bytes);
}

static struct item *take_oldest(struct ingest_feed *f)
{
	struct item *it = f->ring[f->first];

	f->first = (f->first + 1) % f->capacity;
	f->n_waiting--;
	return it;
}

static void give_receipt(const struct ingest_feed *f, const struct item *it,
			 enum feed_metric reason)
{
	if (it->receipt == 0 || !f->on_receipt)
		return;
	if (reason == STORED)
		f->on_receipt(f->receipt_ctx, it->receipt, NULL);
	else if (reason == DROPPED_REFUSED)
		f->on_receipt(f->receipt_ctx, it->receipt,
			      it->refusal ?: "the store refused the profile");
	else if (reason == DROPPED_QUEUE_FULL)
		f->on_receipt(f->receipt_ctx, it->receipt,
			      "dropped: the store takes nothing, and too many profiles wait");
}

static void drop(struct ingest_feed *f, struct item *it, enum feed_metric reason)
{
	give_receipt(f, it, reason);
	metric_add(&f->metrics[reason], 1);
	f->n_bytes -= it->body_len;
	item_free(it);
}

static void enqueue(struct ingest_feed *f, struct item *it)
{
	while (f->n_waiting > 0 && (f->n_waiting == f->capacity || f->n_bytes > f->max_bytes))
		drop(f, take_oldest(f), DROPPED_QUEUE_FULL);
	f->ring[(f->first + f->n_waiting) % f->capacity] = it;
	f->n_waiting++;
}

/* Called on a thread of ingest or of the log. The queue has room for all submitted items. */
static void on_answer(void *ctx, enum ingest_outcome outcome, const char *reason)
{
	struct item *it = ctx;
	struct ingest_feed *f = it->feed;

	it->outcome = outcome;
	if (outcome == INGEST_BAD_PROFILE || outcome == INGEST_TOO_LARGE) {
		log_warn_limited("dropping a scraped profile", "service=%.*s reason=%s",
				 (int)it->upload.service.len, it->upload.service.data,
				 LOG_QUOTED(reason));
		free(it->refusal);
		if (asprintf(&it->refusal, "the store refused the profile: %s", reason) < 0)
			it->refusal = NULL;
	}
	if (queue_push(f->answered, it) < 0)
		abort();
	loop_wake(f->wake);
}

static bool is_for_now(enum ingest_outcome o)
{
	return o != INGEST_STORED && o != INGEST_BAD_PROFILE && o != INGEST_TOO_LARGE;
}

static void retry_later(struct ingest_feed *f)
{
	metric_add(&f->metrics[RETRIES], 1);
	if (f->paused)
		return;
	if (!f->failing)
		log_warn("cannot store scraped profiles, retrying", "waiting=%zu",
			 f->n_waiting + f->n_submitted);
	f->failing = true;
	f->paused = true;
	loop_set_timer(f->retry, backoff_next_ns(&f->backoff));
}

static void submit(struct ingest_feed *f)
{
	while (!f->paused && f->n_waiting > 0 && f->n_submitted < MAX_SUBMITTED) {
		struct item *it = take_oldest(f);

		f->n_submitted++;
		if (ingest_submit(f->ingest, &it->upload) == 0)
			continue;
		f->n_submitted--;
		enqueue(f, it);
		retry_later(f);
	}
	show(f);
}

static void on_retry(void *ctx)
{
	struct ingest_feed *f = ctx;

	f->paused = false;
	submit(f);
}

static void settle(struct ingest_feed *f, struct item *it)
{
	f->n_submitted--;
	if (is_for_now(it->outcome)) {
		enqueue(f, it);
		retry_later(f);
		return;
	}
	backoff_reset(&f->backoff);
	if (f->failing)
		log_info("storing scraped profiles recovered", "waiting=%zu", f->n_waiting);
	f->failing = false;
	drop(f, it, it->outcome == INGEST_STORED ? STORED : DROPPED_REFUSED);
}

static void on_wake(void *ctx)
{
	struct ingest_feed *f = ctx;
	struct item *it;

	while ((it = queue_pop_timeout(f->answered, 0)))
		settle(f, it);
	submit(f);
}

static struct row_text copy_text(char **at, const char *s)
{
	struct row_text t = {.data = *at, .len = strlen(s)};

	memcpy(*at, s, t.len + 1);
	*at += t.len + 1;
	return t;
}

/* Does not take the body. Returns NULL if there is no memory. */
static struct item *item_new(struct ingest_feed *f, const struct upload_label *labels)
{
	size_t n_bytes = 0, n = 0;
	struct item *it;
	char *at;

	for (; labels[n].name; n++)
		n_bytes += strlen(labels[n].name) + 2 +
			   (labels[n].value ? strlen(labels[n].value) : 0);
	it = calloc(1, sizeof(*it) + n * sizeof(it->labels[0]) + n_bytes);
	if (!it)
		return NULL;
	it->feed = f;
	it->upload = (struct ingest_upload){.labels = it->labels, .done = on_answer, .ctx = it};
	at = (char *)&it->labels[n];
	for (size_t i = 0; i < n; i++) {
		struct row_text value;

		if (!labels[i].value || !labels[i].value[0])
			continue;
		value = copy_text(&at, labels[i].value);
		if (strcmp(labels[i].name, "service.name") == 0) {
			it->upload.service = value;
			continue;
		}
		if (strcmp(labels[i].name, "node") == 0)
			it->upload.host = value;
		it->labels[it->upload.n_labels++] =
			(struct row_label){.name = copy_text(&at, labels[i].name), .value = value};
	}
	return it;
}

void ingest_feed_put(struct ingest_feed *f, uint64_t number, const struct upload_label *labels,
		     struct buf *body)
{
	struct item *it = item_new(f, labels);

	if (!it) {
		metric_add(&f->metrics[DROPPED_MEMORY], 1);
		buf_fini(body);
		return;
	}
	it->receipt = number;
	it->body = buf_take(body, &it->body_len);
	it->upload.body = it->body;
	it->upload.len = it->body_len;
	f->n_bytes += it->body_len;
	enqueue(f, it);
	submit(f);
}

void ingest_feed_flush(struct ingest_feed *f)
{
	while (f->n_waiting > 0) {
		struct item *it = take_oldest(f);

		if (f->n_submitted < f->capacity && ingest_submit(f->ingest, &it->upload) == 0) {
			f->n_submitted++;
			continue;
		}
		drop(f, it, DROPPED_SHUTDOWN);
	}
}

int ingest_feed_new(struct ingest_feed **ret, const struct ingest_feed_config *cfg)
{
	CLEANUP(ingest_feed_freep) struct ingest_feed *f = calloc(1, sizeof(*f));
	int r;

	if (!f)
		return -ENOMEM;
	f->ingest = cfg->ingest;
	f->on_receipt = cfg->on_receipt;
	f->receipt_ctx = cfg->receipt_ctx;
	f->capacity = cfg->max_items ? cfg->max_items : DEFAULT_MAX_ITEMS;
	f->max_bytes = cfg->max_bytes ? cfg->max_bytes : DEFAULT_MAX_BYTES;
	f->backoff = (struct backoff){
		.min_ns = cfg->retry_min_ns ? cfg->retry_min_ns : DEFAULT_RETRY_MIN_NS,
		.max_ns = cfg->retry_max_ns ? cfg->retry_max_ns : DEFAULT_RETRY_MAX_NS,
		.random = clock_monotonic_ns(),
	};
	f->ring = calloc(f->capacity, sizeof(struct item *));
	if (!f->ring)
		return -ENOMEM;
	r = queue_new(&f->answered, f->capacity + MAX_SUBMITTED);
	if (r == 0)
		r = loop_add_wake(cfg->loop, on_wake, f, &f->wake);
	if (r == 0)
		r = loop_add_timer(cfg->loop, on_retry, f, &f->retry);
	if (r < 0)
		return r;
	*ret = TAKE_PTR(f);
	return 0;
}

static void count_answered(struct ingest_feed *f)
{
	struct item *it;

	while ((it = queue_pop_timeout(f->answered, 0)))
		drop(f, it,
		     it->outcome == INGEST_STORED ? STORED
		     : is_for_now(it->outcome)    ? DROPPED_SHUTDOWN
						  : DROPPED_REFUSED);
}

void ingest_feed_free(struct ingest_feed *f)
{
	if (!f)
		return;
	if (f->answered)
		count_answered(f);
	while (f->n_waiting > 0)
		drop(f, take_oldest(f), DROPPED_SHUTDOWN);
	if (metric_get(&f->metrics[DROPPED_SHUTDOWN]) > 0)
		log_warn("stopping with scraped profiles that could not be stored", "profiles=%llu",
			 (unsigned long long)metric_get(&f->metrics[DROPPED_SHUTDOWN]));
	loop_remove(f->wake);
	loop_remove(f->retry);
	queue_free(f->answered);
	free(f->ring);
	free(f);
}

int ingest_feed_register(struct ingest_feed *f, struct metrics *ms)
{
	return metrics_register(ms, &metric_table, f->metrics, NULL);
}
