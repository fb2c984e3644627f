#include "cluster-agent/receive/symbol_handler.h"

#include <errno.h>

#include "cluster-agent/push/body_encoding.h"
#include "common/data/buf.h"
#include "common/telemetry/log.h"
#include "common/thread/worker_pool.h"

/* A table takes milliseconds, and its memory is what it has inflated. */
#define THREADS 1u
#define MAX_QUEUED 16u
#define RETRY_AFTER "5"

enum {
	REFUSED,
	TOO_LARGE,
	BUSY,
	FAILED,
	N_METRICS,
};

#define REFUSALS(reason)                                                              \
	"coroot_cluster_agent_symbol_uploads_refused_total", "reason=\"" reason "\"", \
		"Uploads of names of functions that were not stored, by reason"

static const struct metric_def metric_defs[N_METRICS] = {
	[REFUSED] = {REFUSALS("not_valid")},
	[TOO_LARGE] = {REFUSALS("too_large")},
	[BUSY] = {REFUSALS("busy")},
	[FAILED] = {REFUSALS("failed")},
};
METRIC_TABLE(metric_table, metric_defs);

struct symbol_handler {
	struct symbol_store *store;
	struct worker_pool *pool; /* of struct http_exchange */
	struct metric metrics[N_METRICS];
};

static void refuse(struct symbol_handler *h, struct http_exchange *x, int reason, const char *text)
{
	static const unsigned statuses[] = {
		[REFUSED] = 400, [TOO_LARGE] = 413, [BUSY] = 503, [FAILED] = 503};

	metric_add(&h->metrics[reason], 1);
	log_warn_limited("refusing an upload of symbols", "reason=%s", LOG_QUOTED(text));
	if (statuses[reason] == 503 && http_exchange_set_header(x, "Retry-After", RETRY_AFTER) < 0)
		log_debug("answering without a header", "name=Retry-After");
	http_respond_text(x, statuses[reason], "%s", text);
}

static int reason_of(int error)
{
	return error == -EBADMSG || error == -EINVAL ? REFUSED
	       : error == -EFBIG                     ? TOO_LARGE
						     : FAILED;
}

/* Sets *ret to the table, which is in the body or, inflated, in out. */
static int inflate(struct http_exchange *x, struct buf *out, const void **ret, size_t *ret_len,
		   struct err *err)
{
	enum body_encoding encoding;
	int r;

	if (!body_encoding_find(&encoding, http_exchange_header(x, "Content-Encoding")))
		return err_set(err, -EINVAL, "Content-Encoding must be " BODY_ENCODINGS);
	*ret = http_exchange_body(x, ret_len);
	if (encoding == BODY_IDENTITY)
		return 0;
	r = body_inflate(encoding, *ret, *ret_len, out, err);
	*ret = out->data;
	*ret_len = out->len;
	return r;
}

static void run(void *ctx, void *job, struct arena *arena)
{
	static const char *const texts[] = {
		[SYMBOL_PUT_STORED] = "stored",
		[SYMBOL_PUT_REPLACED] = "stored in place of one that knew less",
		[SYMBOL_PUT_KNOWN] = "known already",
	};
	struct symbol_handler *h = ctx;
	struct http_exchange *x = job;
	CLEANUP(buf_fini) struct buf inflated;
	struct err err = {.msg = ""};
	enum symbol_put result = SYMBOL_PUT_KNOWN;
	const void *table = NULL;
	size_t len = 0;
	int r;

	(void)arena;
	buf_init(&inflated, SYMBOL_FILE_MAX_BYTES);
	r = inflate(x, &inflated, &table, &len, &err);
	if (r == 0)
		r = symbol_store_put(h->store, table, len, &result, &err);
	if (r < 0)
		refuse(h, x, reason_of(r), err.msg[0] ? err.msg : strerror(-r));
	else
		http_respond_text(x, 200, "%s", texts[result]);
}

int symbol_handler_new(struct symbol_handler **ret, struct symbol_store *store)
{
	CLEANUP(symbol_handler_freep) struct symbol_handler *h = calloc(1, sizeof(*h));
	const struct worker_pool_config cfg = {
		.name = "symbols",
		.n_threads = THREADS,
		.max_queued = MAX_QUEUED,
		.run = run,
		.ctx = h,
	};
	int r;

	if (!h)
		return -ENOMEM;
	h->store = store;
	r = worker_pool_new(&h->pool, &cfg);
	if (r == 0)
		r = worker_pool_start(h->pool);
	if (r < 0)
		return r;
	*ret = TAKE_PTR(h);
	return 0;
}

void symbol_handler_stop(struct symbol_handler *h)
{
	worker_pool_stop(h->pool);
}

void symbol_handler_free(struct symbol_handler *h)
{
	if (!h)
		return;
	worker_pool_free(h->pool);
	free(h);
}

int symbol_handler_register(struct symbol_handler *h, struct metrics *ms)
{
	return metrics_register(ms, &metric_table, h->metrics, NULL);
}

void symbol_handler_serve(struct symbol_handler *h, struct http_exchange *x)
{
	if (worker_pool_submit(h->pool, x) < 0)
		refuse(h, x, BUSY, "too many uploads of symbols are waiting");
}
