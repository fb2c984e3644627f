#include "cluster-agent/receive/profile_handler.h"

#include <errno.h>

#include "cluster-agent/ingest/clock_skews.h"
#include "cluster-agent/ingest/ingest.h"
#include "cluster-agent/push/pprof_upload.h"
#include "common/data/arena.h"
#include "common/system/clock.h"
#include "common/text/parse.h"
#include "common/text/utf8.h"
#include "common/upload/receiver_clock.h"
#include "common/upload/receiver_wishes.h"

#define BAD_ENCODING "Content-Encoding must be " BODY_ENCODINGS
/* more than a whole request line may have */
#define MAX_REPAIRED_BYTES ((size_t)64 * 1024)
#define MAX_SKEW_S (UINT64_C(200) * 366 * 86400)

struct profile_handler {
	struct profile_handler_config cfg;
};

/* One request while ingest works on it. */
struct request {
	struct profile_handler *handler;
	struct http_exchange *exchange;
	struct upload_params params;
	struct arena repaired; /* copies of params that were not UTF-8 */
	bool out_of_memory;
	struct pprof_upload pprof;
	struct encoded_body encoded;
	struct ingest_upload upload;
};

static void request_free(struct request *r)
{
	arena_fini(&r->repaired);
	free(r);
}
DEFINE_CLEANUP(struct request *, request_free);

static void answer(struct profile_handler *h, struct http_exchange *x, enum upload_result result,
		   const char *reason)
{
	upload_result_note(h->cfg.counters, x, result, http_exchange_param(x, "service.name") ?: "",
			   reason);
	upload_result_respond(x, result, reason);
}

/* A sender that corrects the times of its profiles says by how much its clock is wrong. */
static void note_skew(const struct request *r)
{
	const char *text = http_exchange_header(r->exchange, RECEIVER_CLOCK_HEADER);
	bool is_behind = text && text[0] == '-';
	uint64_t seconds;
	int64_t skew_ns;

	if (!r->handler->cfg.clocks || !text ||
	    parse_u64(text + is_behind, strlen(text + is_behind), 1, MAX_SKEW_S, &seconds) < 0)
		return;
	skew_ns = (int64_t)(seconds * NS_PER_S);
	clock_skews_note(r->handler->cfg.clocks, r->params.host, is_behind ? -skew_ns : skew_ns,
			 CLOCK_SKEW_CORRECTED);
}

static void upload_done(void *ctx, enum ingest_outcome outcome, const char *reason)
{
	CLEANUP(request_freep) struct request *r = ctx;

	if (outcome == INGEST_STORED)
		note_skew(r);
	answer(r->handler, r->exchange, upload_result_of(outcome), reason);
}

/*
 * Makes text valid UTF-8. The page asks for services by the names that it got as JSON, which cannot
 * carry other bytes: a service named in Latin-1 would be listed and never found.
 */
static const char *repair(struct request *r, const char *text)
{
	size_t len = strlen(text);
	char *copy;

	if (utf8_is_valid(text, len))
		return text;
	copy = arena_strndup(&r->repaired, text, len);
	if (!copy) {
		r->out_of_memory = true;
		return "";
	}
	utf8_repair(copy, len);
	return copy;
}

static void add_param(void *ctx, const char *name, const char *value)
{
	struct request *r = ctx;

	upload_params_add(&r->params, repair(r, name), repair(r, value));
}

void profile_handler_serve(void *ctx, struct http_exchange *x)
{
	struct profile_handler *h = ctx;
	CLEANUP(request_freep) struct request *r = NULL;
	struct err err = {""};

	r = calloc(1, sizeof(*r));
	if (!r) {
		answer(h, x, UPLOAD_FAILED, "out of memory");
		return;
	}
	r->handler = h;
	r->exchange = x;
	arena_init(&r->repaired, MAX_REPAIRED_BYTES);
	http_exchange_each_param(x, add_param, r);
	if (r->out_of_memory) {
		answer(h, x, UPLOAD_FAILED, "out of memory");
		return;
	}
	if (upload_params_finish(&r->params, &err) < 0) {
		answer(h, x, UPLOAD_BAD_PARAMS, err.msg);
		return;
	}
	r->encoded = (struct encoded_body){.decode = pprof_upload_decode, .ctx = &r->pprof};
	if (!body_encoding_find(&r->encoded.encoding,
				http_exchange_header(x, "Content-Encoding"))) {
		upload_result_note(h->cfg.counters, x, UPLOAD_BAD_PARAMS, "", BAD_ENCODING);
		http_respond_text(x, 415, "%s", BAD_ENCODING);
		return;
	}
	r->pprof = (struct pprof_upload){
		.service = r->params.service,
		.host = r->params.host,
		.labels = r->params.labels,
		.n_labels = r->params.n_labels,
		.now_ns = (int64_t)clock_realtime_ns(),
	};
	r->upload = (struct ingest_upload){
		.service = r->params.service,
		.host = r->params.host,
		.labels = r->params.labels,
		.n_labels = r->params.n_labels,
		.decode = encoded_body_decode,
		.decode_ctx = &r->encoded,
		.key = upload_key_of(x),
		.is_repeat = upload_is_repeat(x),
		.done = upload_done,
		.ctx = r,
	};
	r->upload.body = http_exchange_body(x, &r->upload.len);
	if (ingest_submit(h->cfg.ingest, &r->upload) < 0) {
		answer(h, x, UPLOAD_BUSY, "too many profiles are waiting");
		return;
	}
	/* upload_done() frees it, or already has */
	TAKE_PTR(r);
}

void profile_handler_serve_wishes(void *ctx, struct http_exchange *x)
{
	const char *json = receiver_wishes_json(&RECEIVER_WISHES_OWN);

	(void)ctx;
	http_respond_static(x, "application/json", json, strlen(json), false);
}

int profile_handler_new(struct profile_handler **ret, const struct profile_handler_config *cfg)
{
	struct profile_handler *h = calloc(1, sizeof(*h));

	if (!h)
		return -ENOMEM;
	h->cfg = *cfg;
	*ret = h;
	return 0;
}

void profile_handler_free(struct profile_handler *h)
{
	free(h);
}

/* ---- parameters ---- */

static bool is(const struct row_text *t, const char *s)
{
	return t->len == strlen(s) && memcmp(t->data, s, t->len) == 0;
}

void upload_params_add(struct upload_params *p, const char *name, const char *value)
{
	struct row_text text = {.data = value, .len = strlen(value)};

	if (strcmp(name, "service.name") == 0) {
		if (p->service.len == 0)
			p->service = text;
		return;
	}
	for (size_t i = 0; i < p->n_labels; i++) {
		if (is(&p->labels[i].name, name)) {
			p->repeated[i] = true;
			return;
		}
	}
	if (p->n_labels == UPLOAD_PARAMS_MAX) {
		p->too_many = true;
		return;
	}
	p->repeated[p->n_labels] = false;
	p->labels[p->n_labels++] =
		(struct row_label){.name = {.data = name, .len = strlen(name)}, .value = text};
}

int upload_params_finish(struct upload_params *p, struct err *err)
{
	size_t n = 0;

	if (p->service.len == 0)
		return err_set(err, -EINVAL, "query parameter service.name is missing");
	if (p->too_many)
		return err_set(err, -EINVAL, "more than %u query parameters", UPLOAD_PARAMS_MAX);
	for (size_t i = 0; i < p->n_labels; i++) {
		if (p->repeated[i])
			continue;
		p->labels[n] = p->labels[i];
		if (is(&p->labels[n].name, "host.name") ||
		    (p->host.len == 0 && is(&p->labels[n].name, "node")))
			p->host = p->labels[n].value;
		n++;
	}
	p->n_labels = n;
	return 0;
}
