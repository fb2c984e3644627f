/*
 * Delivery of profiles: what to do with each answer of the receiver.
 *
 * The difficulty is to distinguish a receiver in trouble from a profile that it cannot take. If
 * everything were retried, one bad profile at the head of the queue would block all others; if
 * everything were dropped, an outage of a minute would lose a minute. The status says which: no
 * answer, 429 and 5xx are about the receiver, other 4xx about the profile. 500 is ambiguous,
 * because servers return it for their bugs, too. It is taken for the profile's fault after
 * MAX_500_ANSWERS of them, counting only those between which other profiles were accepted.
 *
 * While the receiver is down, a single request at a time probes it; the first success opens the
 * window to max_sending again.
 */
#include "common/upload/uploader.h"

#include <errno.h>

#include "common/http/backoff.h"
#include "common/system/clock.h"
#include "common/telemetry/log.h"
#include "common/upload/upload_queue.h"

/* Answers of 500 to one profile, with others accepted in between, until it is dropped. */
#define MAX_500_ANSWERS 10

/* Longest Retry-After that is followed: a longer one would look as if the agent had died. */
#define MAX_RETRY_AFTER_NS (300 * NS_PER_S)

enum uploader_metric {
	UPLOADED,
	UPLOADED_BYTES,
	RETRIES,
	DROPPED_QUEUE_FULL,
	DROPPED_REJECTED,
	DROPPED_SHUTDOWN,
	DROPPED_UNQUEUED,
	QUEUE_ITEMS,
	QUEUE_BYTES,
	UPLOADER_METRIC_MAX,
};

struct uploader {
	struct http_client *client; /* borrowed */
	struct loop_source *retry_timer;
	char *endpoint;
	char *api_key_header; /* NULL if there is none */
	unsigned max_sending;
	uint64_t timeout_ns;
	struct backoff backoff;

	struct upload_queue queue;
	unsigned n_sending;
	bool waiting; /* the retry timer is set: nothing is sent */
	bool down;    /* the last request failed, which was logged */

	loop_fn idle;
	void *idle_ctx;
	struct metric metrics[UPLOADER_METRIC_MAX];
};

#define DROPPED(reason)                                     \
	"_profiles_dropped_total", "reason=\"" reason "\"", \
		"Profiles lost after they were made, by reason"

static const struct metric_def metric_defs[UPLOADER_METRIC_MAX] = {
	[UPLOADED] = {"_profiles_uploaded_total", NULL, "Profiles that the receiver accepted"},
	[UPLOADED_BYTES] = {"_profiles_uploaded_bytes_total", NULL,
			    "Compressed bytes of the profiles that the receiver accepted"},
	[RETRIES] = {"_profile_upload_retries_total", NULL,
		     "Uploads that failed and are retried later"},
	[DROPPED_QUEUE_FULL] = {DROPPED("queue_full")},
	[DROPPED_REJECTED] = {DROPPED("rejected")},
	[DROPPED_SHUTDOWN] = {DROPPED("shutdown")},
	[DROPPED_UNQUEUED] = {DROPPED("unqueued")},
	[QUEUE_ITEMS] = {"_upload_queue_profiles", NULL, "Profiles waiting for the receiver",
			 METRIC_GAUGE},
	[QUEUE_BYTES] = {"_upload_queue_bytes", NULL,
			 "Compressed bytes of the profiles waiting for the receiver", METRIC_GAUGE},
};
METRIC_TABLE(metric_table, metric_defs);

static void show_queue(struct uploader *u)
{
	metric_set(&u->metrics[QUEUE_ITEMS], u->queue.n_items);
	metric_set(&u->metrics[QUEUE_BYTES], u->queue.n_bytes);
}

static void retry_later(struct uploader *u, const struct http_result *res)
{
	uint64_t delay;

	metric_add(&u->metrics[RETRIES], 1);
	if (u->waiting)
		return;
	delay = backoff_next_ns(&u->backoff);
	if (res->retry_after_ns > delay)
		delay = res->retry_after_ns < MAX_RETRY_AFTER_NS ? res->retry_after_ns
								 : MAX_RETRY_AFTER_NS;
	if (!u->down)
		log_warn("cannot upload profiles; retrying", "status=%d error=\"%s\" in_ms=%llu",
			 res->status, res->error ? res->msg : "",
			 (unsigned long long)(delay / NS_PER_MS));
	u->down = true;
	u->waiting = true;
	loop_set_timer(u->retry_timer, delay);
}

static void finish(struct uploader *u, struct upload *up, const struct http_result *res)
{
	backoff_reset(&u->backoff);
	if (u->down)
		log_info("uploads recovered", "waiting=%zu", u->queue.n_items);
	u->down = false;
	if (res->status >= 200 && res->status < 300) {
		metric_add(&u->metrics[UPLOADED], 1);
		metric_add(&u->metrics[UPLOADED_BYTES], up->body_len);
	} else {
		metric_add(&u->metrics[DROPPED_REJECTED], 1);
		log_warn_limited("the receiver refused a profile", "status=%d answer=\"%.*s\"",
				 res->status, (int)(res->body_len < 200 ? res->body_len : 200),
				 res->body ? res->body : "");
	}
	upload_queue_remove(&u->queue, up);
	show_queue(u);
}

static void send_more(struct uploader *u);

static bool is_for_later(const struct http_result *res)
{
	return res->error || res->status == 429 || res->status >= 500;
}

/* Whether answers of 500 show that the profile is at fault: see the top of the file. */
static bool is_own_fault(struct uploader *u, struct upload *up, const struct http_result *res)
{
	uint64_t n_accepted = metric_get(&u->metrics[UPLOADED]);

	if (res->error || res->status != 500)
		return false;
	up->n_failures += up->n_failures == 0 || n_accepted > up->n_accepted;
	up->n_accepted = n_accepted;
	return up->n_failures >= MAX_500_ANSWERS;
}

static void on_done(void *ctx, const struct http_result *res)
{
	struct upload *up = ctx;
	struct uploader *u = up->context;

	up->sending = false;
	u->n_sending--;
	if (is_own_fault(u, up, res) || !is_for_later(res)) {
		finish(u, up, res);
	} else {
		if (res->status >= 500)
			upload_queue_move_back(&u->queue, up);
		retry_later(u, res);
	}

	send_more(u);
	if (u->queue.n_items == 0 && u->idle)
		u->idle(u->idle_ctx);
}

static int send_upload(struct uploader *u, struct upload *up)
{
	char key_header[sizeof("Idempotency-Key: ") + UPLOAD_KEY_DIGITS];
	const char *const headers[] = {key_header, u->api_key_header, NULL};
	struct http_request req = {
		.method = "POST",
		.url = up->url,
		.headers = headers,
		.body = up->body,
		.body_len = up->body_len,
		.timeout_ns = u->timeout_ns,
		.max_response_bytes = 64 * 1024,
	};

	snprintf(key_header, sizeof(key_header), "Idempotency-Key: %s", up->key.text);
	return http_send(u->client, &req, on_done, up);
}

static void send_more(struct uploader *u)
{
	/* while the receiver is down, one request is enough to learn when it recovers */
	unsigned max = u->down ? 1 : u->max_sending;
	struct upload *up;

	while (!u->waiting && u->n_sending < max && (up = upload_queue_next(&u->queue))) {
		int r = send_upload(u, up);

		if (r < 0) {
			retry_later(u, &(struct http_result){.error = r, .msg = strerror(-r)});
			return;
		}
		up->sending = true;
		u->n_sending++;
	}
}

static void on_retry(void *ctx)
{
	struct uploader *u = ctx;

	u->waiting = false;
	send_more(u);
}

int uploader_new(struct uploader **ret, struct loop *l, struct http_client *client,
		 const struct uploader_config *cfg)
{
	CLEANUP(uploader_freep) struct uploader *u = NULL;
	int r;

	u = calloc(1, sizeof(*u));
	if (!u)
		return -ENOMEM;

	u->client = client;
	upload_queue_init(&u->queue, cfg->max_items, cfg->max_bytes);
	u->max_sending = cfg->max_sending;
	u->timeout_ns = cfg->timeout_ns;
	u->backoff = (struct backoff){
		.min_ns = cfg->retry_min_ns,
		.max_ns = cfg->retry_max_ns,
		.random = clock_monotonic_ns() ^ ((uint64_t)getpid() << 32),
	};
	u->endpoint = strdup(cfg->endpoint);
	if (!u->endpoint)
		return -ENOMEM;
	if (cfg->api_key && cfg->api_key[0] &&
	    asprintf(&u->api_key_header, "X-Api-Key: %s", cfg->api_key) < 0) {
		u->api_key_header = NULL;
		return -ENOMEM;
	}
	r = loop_add_timer(l, on_retry, u, &u->retry_timer);
	if (r < 0)
		return r;

	*ret = TAKE_PTR(u);
	return 0;
}

void uploader_free(struct uploader *u)
{
	if (!u)
		return;
	if (u->queue.n_items > 0) {
		metric_add(&u->metrics[DROPPED_SHUTDOWN], u->queue.n_items);
		log_warn("lost profiles that could not be uploaded before the end", "profiles=%zu",
			 u->queue.n_items);
	}
	upload_queue_fini(&u->queue);
	loop_remove(u->retry_timer);
	free(u->endpoint);
	free(u->api_key_header);
	free(u);
}

int uploader_register_metrics(struct uploader *u, const char *prefix, struct metrics *ms)
{
	return metrics_register_as(ms, prefix, &metric_table, u->metrics, NULL);
}

int uploader_add(struct uploader *u, const struct upload_label *labels, struct buf *body)
{
	uint64_t dropped_before = u->queue.n_dropped;
	int r = upload_queue_add(&u->queue, u->endpoint, labels, body, u);

	if (u->queue.n_dropped > dropped_before) {
		metric_add(&u->metrics[DROPPED_QUEUE_FULL], u->queue.n_dropped - dropped_before);
		log_warn_limited("dropped the oldest profiles: the upload queue is full",
				 "profiles=%zu", u->queue.n_items);
	} else if (r < 0) {
		metric_add(&u->metrics[DROPPED_UNQUEUED], 1);
	}
	show_queue(u);
	send_more(u);
	return r;
}

size_t uploader_pending(const struct uploader *u)
{
	return u->queue.n_items;
}

bool uploader_is_down(const struct uploader *u)
{
	return u->down;
}

void uploader_hurry(struct uploader *u)
{
	backoff_reset(&u->backoff);
	if (u->waiting)
		loop_set_timer(u->retry_timer, 0);
}

void uploader_on_idle(struct uploader *u, loop_fn idle, void *ctx)
{
	u->idle = idle;
	u->idle_ctx = ctx;
}
