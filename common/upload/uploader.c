/*
 * Delivery of profiles: what to do with each answer of the receiver.
 *
 * The difficulty is to distinguish a receiver in trouble from a profile that it cannot take. If
 * everything were retried, one bad profile at the head of the queue would block all others; if
 * everything were dropped, a rotated key or an outage of a minute would lose a minute. The status
 * says which (upload_verdict.h); only four of them drop a profile at once. 500 is ambiguous,
 * because servers return it for their bugs, too. It is taken for the profile's fault after
 * MAX_FAULTS of them, counting only those between which other profiles were accepted, and one in
 * FAULT_EVERY_NS at most: no hour of a server that fails now and then drops anything.
 *
 * A profile that the receiver answers with an error of which it is not clear whether all get it
 * waits for a while of its own and lets others try, so that nothing blocks the queue for good.
 *
 * While the receiver is down, a single request at a time probes it. Each success then allows one
 * more request at the same time, up to max_sending. The backlog, what waited on disk, has a window
 * of its own that begins with one request and grows by one for each round of successes, up to half
 * of max_sending: a receiver that recovers meets hundreds of senders with full spools. New profiles
 * are sent first, but never use the backlog's share, so that neither can starve the other.
 */
#include "common/upload/uploader.h"

#include <errno.h>
#include <utlist.h>

#include "common/access/sent_key.h"
#include "common/limits.h"
#include "common/system/clock.h"
#include "common/telemetry/log.h"
#include "common/upload/upload_format.h"
#include "common/upload/uploader_state.h"

/* Answers of 500 that count, until a profile is dropped. */
#define MAX_FAULTS 10
#define FAULT_EVERY_NS (180 * NS_PER_S)

#define SLOW_RETRY_MAX_NS (300 * NS_PER_S)

/* Longest Retry-After that is followed: a longer one would look as if the agent had died. */
#define MAX_RETRY_AFTER_NS (300 * NS_PER_S)

/* Logs the reason when the receiver goes down, and when another one replaces it. */
static void log_trouble(struct uploader *u, const struct http_result *res, uint64_t delay_ns)
{
	enum upload_verdict verdict = upload_verdict(res->error, res->status);
	int status = verdict == UPLOAD_BLOCKED ? res->status : 0;
	char reason[UPLOAD_REASON_BYTES];

	if (u->down && verdict == u->down_verdict && status == u->down_status)
		return;
	u->down_verdict = verdict;
	u->down_status = status;
	upload_verdict_reason(res->error, res->status, reason);
	log_warn("cannot upload profiles; retrying",
		 "reason=\"%s\" status=%d error=\"%s\" waiting=%zu in_ms=%llu", reason, res->status,
		 res->error ? res->msg : "", uploader_waiting(u),
		 (unsigned long long)(delay_ns / NS_PER_MS));
}

static void retry_later(struct uploader *u, const struct http_result *res)
{
	bool is_blocked = upload_verdict(res->error, res->status) == UPLOAD_BLOCKED;
	uint64_t delay;

	metric_add(&u->metrics[RETRIES], 1);
	u->window = 1;
	u->backlog_window = 1;
	if (u->waiting)
		return;
	/* a key may be right in a moment, without anybody who restarts us */
	if (res->status == 401 && sent_key_may_change(u->key))
		is_blocked = false;
	u->backoff.max_ns = is_blocked ? u->slow_retry_max_ns : u->retry_max_ns;
	delay = backoff_next_ns(&u->backoff);
	if (res->retry_after_ns > delay)
		delay = res->retry_after_ns < MAX_RETRY_AFTER_NS ? res->retry_after_ns
								 : MAX_RETRY_AFTER_NS;
	log_trouble(u, res, delay);
	u->down = true;
	u->waiting = true;
	loop_set_timer(u->retry_timer, delay);
	uploader_store_waiting(u, 0);
}

static void log_refusal(const struct upload *up, const struct http_result *res)
{
	char service[UPLOAD_SERVICE_BYTES];

	upload_item_service(up->item, service);
	log_warn_limited("the receiver refused a profile; dropped it",
			 "service=%s bytes=%zu status=%d answer=\"%.*s\"", LOG_QUOTED(service),
			 up->item->body_len, res->status,
			 (int)(res->body_len < 200 ? res->body_len : 200),
			 res->body ? res->body : "");
}

/* Tells who sent the profile what became of it. */
static void give_receipt(const struct uploader *u, const struct upload *up,
			 const struct http_result *res)
{
	char refusal[256];
	size_t len = res->body ? res->body_len : 0;

	if (up->item->receipt == 0 || !u->on_receipt)
		return;
	if (upload_verdict(res->error, res->status) == UPLOAD_ACCEPTED) {
		u->on_receipt(u->receipt_ctx, up->item->receipt, NULL);
		return;
	}
	for (size_t i = 0; i < len; i++) {
		if ((unsigned char)res->body[i] < ' ')
			len = i; /* the first line */
	}
	snprintf(refusal, sizeof(refusal), "the receiver refused the profile: HTTP %d: %.*s",
		 res->status, (int)(len < 200 ? len : 200), res->body ? res->body : "");
	u->on_receipt(u->receipt_ctx, up->item->receipt, refusal);
}

static void widen(struct uploader *u, const struct upload *up)
{
	u->window += u->window < u->max_sending;
	if (!up->is_backlog || ++u->n_backlog_sent < u->backlog_window)
		return;
	u->n_backlog_sent = 0;
	u->backlog_window += u->backlog_window < (u->max_sending + 1) / 2;
}

/* The receiver works: it took the profile, or said why it does not. */
static void finish(struct uploader *u, struct upload *up, const struct http_result *res)
{
	backoff_reset(&u->backoff);
	if (u->down)
		log_info("uploads recovered", "waiting=%zu", uploader_waiting(u));
	u->down = false;
	widen(u, up);
	if (upload_verdict(res->error, res->status) == UPLOAD_ACCEPTED &&
	    (!u->format || u->format->is_stored(res->body, res->body_len))) {
		metric_add(&u->metrics[UPLOADED], 1);
		metric_add(&u->metrics[CORRECTED], up->is_corrected);
		metric_add(&u->metrics[UPLOADED_BYTES], up->item->body_len);
	} else {
		metric_add(&u->metrics[DROPPED_REJECTED], 1);
		log_refusal(up, res);
	}
	give_receipt(u, up, res);
	uploader_retire(u, up);
	uploader_show_losing(u, false);
}

/* Whether answers of 500 show that the profile is at fault: see the top of the file. */
static bool is_own_fault(struct uploader *u, struct upload *up, const struct http_result *res)
{
	uint64_t n_accepted = metric_get(&u->metrics[UPLOADED]), now_ns = clock_monotonic_ns();

	if (res->error || res->status != 500)
		return false;
	if (up->n_faults > 0 &&
	    (n_accepted == up->n_accepted || now_ns < up->fault_ns + u->fault_every_ns))
		return false;
	up->n_accepted = n_accepted;
	up->fault_ns = now_ns;
	return ++up->n_faults >= MAX_FAULTS;
}

/* The profile's own delay doubles with its failures. */
static void postpone(struct uploader *u, struct upload *up)
{
	uint64_t delay_ns = u->backoff.min_ns;

	for (unsigned i = 0; i < up->n_attempts && delay_ns < u->slow_retry_max_ns; i++)
		delay_ns *= 2;
	if (delay_ns > u->slow_retry_max_ns)
		delay_ns = u->slow_retry_max_ns;
	up->n_attempts++;
	up->not_before_ns = clock_monotonic_ns() + delay_ns;
}

static void on_done(void *ctx, const struct http_result *res)
{
	struct upload *up = ctx;
	struct uploader *u = up->context;
	enum upload_verdict verdict = upload_verdict(res->error, res->status);

	up->sending = false;
	free(up->sent);
	up->sent = NULL;
	if (!upload_verdict_is_in_doubt(res->error, res->status))
		atomic_store(&up->item->is_in_doubt, up->was_in_doubt);
	uploader_note_answer(u, res, up->sent_ns);
	u->n_sending--;
	u->n_sending_backlog -= up->is_backlog;
	if (!res->error && res->status == 401)
		sent_key_refused(u->key, up->key_no);
	if (verdict == UPLOAD_ACCEPTED || verdict == UPLOAD_REFUSED || is_own_fault(u, up, res)) {
		finish(u, up, res);
	} else {
		if (upload_verdict_may_differ(res->error, res->status))
			postpone(u, up);
		retry_later(u, res);
		uploader_keep(u, up);
	}
	u->go_on(u);
}

/*
 * Headers of a request: the key that identifies it, whether it may be a repetition, the clock, the
 * format's, the receiver's key.
 */
struct headers {
	const char *all[UPLOAD_FORMAT_MAX_HEADERS + 5];
	char clock[UPLOADER_CLOCK_HEADER_BYTES];
	char key[sizeof("Idempotency-Key: ") + UPLOAD_KEY_DIGITS];
};

static void make_headers(const struct uploader *u, struct upload *up, struct headers *h)
{
	const char *key = sent_key_header(u->key, &up->key_no);
	size_t n = 0;

	*h = (struct headers){{NULL}, "", ""};
	snprintf(h->key, sizeof(h->key), "Idempotency-Key: %s", up->item->key.text);
	h->all[n++] = h->key;
	if (atomic_load(&up->item->is_in_doubt))
		h->all[n++] = UPLOAD_REPEAT_HEADER ": 1";
	for (size_t i = 0; u->format && i < u->format->n_headers; i++)
		h->all[n++] = u->format->headers[i];
	uploader_clock_header(u, h->clock);
	if (h->clock[0] && !u->format)
		h->all[n++] = h->clock;
	h->all[n] = key;
}

/* Keeps body until the request has ended, and sends it. */
static void send_instead(struct upload *up, struct buf *body, struct http_request *req)
{
	free(up->sent);
	up->sent = buf_take(body, &req->body_len);
	req->body = up->sent;
}

/* Sets the body of the request, and the query of its URL. */
static int make_body(struct uploader *u, struct upload *up, struct http_request *req,
		     const char **ret_query)
{
	struct upload_item item = {
		.query = up->item->query,
		.body = up->item->body,
		.body_len = up->item->body_len,
	};
	CLEANUP(buf_fini) struct buf corrected;
	CLEANUP(buf_fini) struct buf encoded;
	int r;

	buf_init(&corrected, LIMIT_UPLOAD_INFLATED_BYTES);
	buf_init(&encoded, LIMIT_UPLOAD_INFLATED_BYTES);
	*ret_query = item.query;
	req->body = item.body;
	req->body_len = item.body_len;
	r = uploader_correct(u, up->item, &corrected);
	if (r < 0)
		return r;
	up->is_corrected = r == 1;
	if (r == 1) {
		item.body = corrected.data;
		item.body_len = corrected.len;
	}
	if (u->format) {
		r = u->format->encode(u->format, &item, &encoded);
		if (r == 0)
			send_instead(up, &encoded, req);
		*ret_query = "";
		return r;
	}
	if (r == 1)
		send_instead(up, &corrected, req);
	return 0;
}

static int send_upload(struct uploader *u, struct upload *up)
{
	struct headers headers;
	AUTO_FREE char *url = NULL;
	const char *query;
	struct http_request req = {
		.method = "POST",
		.headers = headers.all,
		.timeout_ns = u->timeout_ns,
		.max_response_bytes = 64 * 1024,
		.once = true,
	};
	int r = make_body(u, up, &req, &query);

	if (r == 0)
		r = upload_url_join(&url, u->endpoint, query);
	if (r < 0)
		return r;
	req.url = url;
	make_headers(u, up, &headers);
	up->sent_ns = clock_boottime_ns();
	r = http_send(u->client, &req, on_done, up);
	if (r < 0)
		return r;
	up->was_in_doubt = atomic_exchange(&up->item->is_in_doubt, true);
	return 0;
}

/* A profile that cannot be written in the receiver's format, damaged on disk as a rule. */
static void drop_unusable(struct uploader *u, struct upload *up)
{
	char service[UPLOAD_SERVICE_BYTES];

	upload_item_service(up->item, service);
	metric_add(&u->metrics[DROPPED_UNQUEUED], 1);
	log_warn_limited("dropped a profile that cannot be sent in the receiver's format",
			 "service=%s bytes=%zu", LOG_QUOTED(service), up->item->body_len);
	uploader_retire(u, up);
}

/* If nothing is due while the receiver is down, the one that has failed least probes it. */
static struct upload *next_of(const struct uploader *u, const struct upload_queue *q)
{
	struct upload *up = upload_queue_next(q, clock_monotonic_ns());

	return up || !u->down ? up : upload_queue_next(q, UINT64_MAX);
}

/* A single request: the oldest profile, unless it has failed more often than the newer one. */
static struct upload *next_probe(const struct uploader *u)
{
	struct upload *old = next_of(u, &u->backlog), *new = next_of(u, &u->queue);

	if (u->n_sending > 0)
		return NULL;
	if (!old || !new)
		return old ? old : new;
	return new->n_attempts < old->n_attempts ? new : old;
}

static struct upload *next_upload(const struct uploader *u)
{
	unsigned share = u->backlog_window < u->window ? u->backlog_window : u->window;
	unsigned n_new = u->n_sending - u->n_sending_backlog;
	struct upload *up = NULL;

	if (u->down || uploader_must_measure(u))
		return next_probe(u);
	if (u->n_sending >= u->max_sending)
		return NULL;
	if (u->backlog.n_items == 0)
		share = 0;
	/* one request of each at least */
	if (n_new < u->window && (n_new == 0 || n_new + share < u->max_sending))
		up = next_of(u, &u->queue);
	if (!up && u->n_sending_backlog < share)
		up = next_of(u, &u->backlog);
	return up;
}

/* Profiles that wait for a while of their own. */
static void wait_for_due(struct uploader *u)
{
	uint64_t due_ns = upload_queue_next_due_ns(&u->queue);
	uint64_t backlog_due_ns = upload_queue_next_due_ns(&u->backlog);
	uint64_t now_ns = clock_monotonic_ns();

	if (backlog_due_ns < due_ns)
		due_ns = backlog_due_ns;
	if (due_ns == UINT64_MAX)
		return;
	/* one that is due has no room now, and is sent when another one ends */
	if (due_ns > now_ns)
		loop_set_timer(u->retry_timer, due_ns - now_ns);
	else if (u->n_sending == 0)
		loop_set_timer(u->retry_timer, 0); /* it became due a moment ago */
}

static void send_more(struct uploader *u)
{
	uint64_t now_ns = clock_monotonic_ns();
	struct upload *up;

	if (u->client && !u->waiting && now_ns < u->hold_until_ns) {
		loop_set_timer(u->retry_timer, u->hold_until_ns - now_ns);
		return;
	}
	while (u->client && !u->waiting && (up = next_upload(u))) {
		int r = send_upload(u, up);

		if (r == -EBADMSG || (r == -EFBIG && u->format)) {
			drop_unusable(u, up);
			continue;
		}
		if (r < 0) {
			retry_later(u, &(struct http_result){.error = r, .msg = strerror(-r)});
			return;
		}
		up->sending = true;
		u->n_sending++;
		u->n_sending_backlog += up->is_backlog;
	}
	if (u->client && !u->waiting) {
		wait_for_due(u);
		uploader_load_more(u);
	}
}

static void go_on(struct uploader *u)
{
	send_more(u);
	if (u->client && uploader_pending(u) == 0 && u->idle)
		u->idle(u->idle_ctx);
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
	u->go_on = go_on;
	upload_queue_init(&u->queue, cfg->max_items, cfg->max_bytes);
	u->max_sending = cfg->max_sending;
	u->window = cfg->max_sending;
	u->backlog_window = 1;
	u->retry_max_ns = cfg->retry_max_ns;
	u->slow_retry_max_ns = cfg->slow_retry_max_ns ? cfg->slow_retry_max_ns : SLOW_RETRY_MAX_NS;
	u->fault_every_ns = cfg->fault_every_ns ? cfg->fault_every_ns : FAULT_EVERY_NS;
	u->timeout_ns = cfg->timeout_ns;
	u->backoff = (struct backoff){
		.min_ns = cfg->retry_min_ns,
		.max_ns = cfg->retry_max_ns,
		.random = clock_monotonic_ns() ^ ((uint64_t)getpid() << 32),
	};
	u->boot = uploader_read_boot();
	u->key = cfg->key;
	u->format = cfg->format;
	u->endpoint = strdup(cfg->endpoint);
	if (!u->endpoint)
		return -ENOMEM;
	r = loop_add_timer(l, on_retry, u, &u->retry_timer);
	if (r == 0)
		r = uploader_store_init(u, l, cfg);
	if (r < 0)
		return r;

	*ret = TAKE_PTR(u);
	return 0;
}

void uploader_free(struct uploader *u)
{
	if (!u)
		return;
	uploader_store_fini(u);
	if (u->queue.n_items > 0) {
		metric_add(&u->metrics[DROPPED_SHUTDOWN], u->queue.n_items);
		log_warn("lost profiles that could not be uploaded before the end", "profiles=%zu",
			 u->queue.n_items);
	}
	upload_queue_fini(&u->queue);
	upload_queue_fini(&u->backlog);
	loop_remove(u->retry_timer);
	free(u->endpoint);
	free(u);
}

void uploader_set_close_time(struct uploader *u, uint64_t ns)
{
	u->close_ns = ns;
}

static int make_item(const struct uploader *u, struct upload_item **ret,
		     const struct upload_label *labels, struct buf *body)
{
	AUTO_FREE char *query = NULL;
	struct upload_item *item;
	struct upload_key key = {""};
	int r = upload_url_query(&query, labels);

	if (r < 0)
		return r;
	upload_key_make(&key);
	item = upload_item_new(&key, clock_realtime_ns(), query, body->data, body->len);
	if (!item)
		return -ENOMEM;
	uploader_stamp(u, &item->clock);
	(void)TAKE_PTR(query);
	(void)TAKE_PTR(body->data);
	*ret = item;
	return 0;
}

int uploader_add(struct uploader *u, const struct upload_label *labels, struct buf *body)
{
	return uploader_add_numbered(u, 0, labels, body);
}

void uploader_on_receipt(struct uploader *u, upload_receipt_fn *fn, void *ctx)
{
	u->on_receipt = fn;
	u->receipt_ctx = ctx;
}

int uploader_add_numbered(struct uploader *u, uint64_t number, const struct upload_label *labels,
			  struct buf *body)
{
	CLEANUP(upload_item_unrefp) struct upload_item *item = NULL;
	uint64_t dropped_before = u->queue.n_dropped;
	struct upload *up = NULL;
	int r = make_item(u, &item, labels, body);

	buf_fini(body);
	if (r == 0)
		item->receipt = number;
	if (r == 0)
		r = upload_queue_add(&u->queue, item, &up, u);
	if (u->queue.n_dropped > dropped_before) {
		metric_add(&u->metrics[DROPPED_QUEUE_FULL], u->queue.n_dropped - dropped_before);
		log_warn_limited("dropped the oldest profiles: the upload queue is full",
				 "profiles=%zu", u->queue.n_items);
		uploader_show_losing(u, true);
	} else if (r < 0) {
		metric_add(&u->metrics[DROPPED_UNQUEUED], 1);
	}
	if (r == 0)
		uploader_store_added(u, up);
	uploader_show_queue(u);
	send_more(u);
	return r;
}

size_t uploader_waiting(const struct uploader *u)
{
	size_t n = u->spool_state.n_profiles;
	const struct upload *up;

	DL_FOREACH (u->queue.uploads, up)
		n += !up->is_stored;
	return n;
}

size_t uploader_pending(const struct uploader *u)
{
	return u->queue.n_items + u->n_sending_backlog;
}

const char *uploader_problem(const struct uploader *u)
{
	return atomic_load(&u->is_losing) ? "the receiver takes no profiles, and the oldest are "
					    "dropped: no room is left"
					  : NULL;
}

bool uploader_is_down(const struct uploader *u)
{
	return u->down;
}

void uploader_hurry(struct uploader *u)
{
	u->is_stopping = true;
	backoff_reset(&u->backoff);
	if (u->waiting || u->hold_until_ns > 0)
		loop_set_timer(u->retry_timer, 0);
	u->hold_until_ns = 0;
	uploader_store_all(u);
}

void uploader_on_idle(struct uploader *u, loop_fn idle, void *ctx)
{
	u->idle = idle;
	u->idle_ctx = ctx;
}
