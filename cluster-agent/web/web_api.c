/*
 * Endpoints and parameters are rows of tables (web_endpoints.c, web_params.c). A request is parsed
 * on the HTTP server's thread, and then is a job of query_jobs.h.
 */
#include "cluster-agent/web/web_api.h"

#include <errno.h>

#include "cluster-agent/notes/note_store.h"
#include "cluster-agent/store/store.h"
#include "cluster-agent/web/query_jobs.h"
#include "cluster-agent/web/web_answer.h"
#include "cluster-agent/web/web_assets.h"
#include "cluster-agent/web/web_endpoints.h"
#include "cluster-agent/web/web_params.h"
#include "common/http/http_server.h"
#include "common/system/clock.h"
#include "common/text/json_writer.h"

#define API_PATH "/api/"

struct request {
	struct query_job job; /* first */
	const struct web_endpoint *endpoint;
	uint64_t asked_ns;           /* realtime */
	struct query_request params; /* texts are the exchange's, and this one: */
	char text[NOTE_STORE_TEXT_BYTES + 1];
};

static void respond_error(struct http_exchange *x, unsigned status, const char *reason)
{
	CLEANUP(buf_fini) struct buf b;
	struct json_writer w;
	size_t len;
	char *body;

	buf_init(&b, 4096);
	json_writer_init(&w, &b);
	json_open(&w, '{');
	json_key(&w, "error");
	json_put_string(&w, reason, strlen(reason));
	json_close(&w, '}');
	if (status == 503)
		web_answer_header(x, "Retry-After", "1");
	if (json_writer_finish(&w) < 0) {
		http_respond(x, status, "application/json", NULL, 0);
		return;
	}
	body = buf_take(&b, &len);
	http_respond(x, status, "application/json", body, len);
}

static int ask(struct query_job *j, struct buf *out, struct err *err)
{
	struct request *r = (struct request *)j;

	return r->endpoint->answer(query_jobs_store(j->jobs), &r->params, out, err);
}

static void send(struct query_job *j, char *body_adopt, size_t len)
{
	struct request *r = (struct request *)j;

	web_answer_send(j->exchange, r->endpoint, &r->params, r->asked_ns, body_adopt, len);
}

static void fail(struct query_job *j, unsigned status, int error, const char *reason)
{
	(void)error;
	respond_error(j->exchange, status, reason);
}

static void free_request(struct query_job *j)
{
	free(j);
}

static const struct query_job_ops ops = {ask, send, fail, free_request};

/* Says which paths there are. */
static void refuse_path(struct query_jobs *jobs, struct http_exchange *x)
{
	CLEANUP(buf_fini) struct buf reason;
	int r;

	query_jobs_count_bad_request(jobs);
	buf_init(&reason, 4096);
	r = buf_addf(&reason, "no such path; there are");
	for (unsigned i = 0; r == 0 && i < WEB_ENDPOINT_MAX; i++) {
		const char *path = web_endpoints[i].path;

		if (path[0] && !(i > 0 && strcmp(web_endpoints[i - 1].path, path) == 0))
			r = buf_addf(&reason, " " API_PATH "%s", path);
	}
	respond_error(x, 404, r == 0 ? reason.data : "no such path");
}

/* Returns an id, or WEB_ENDPOINT_MAX. */
static enum web_endpoint_id find_endpoint(const char *method, const char *path)
{
	if (strcmp(path, "/readyz") == 0)
		return WEB_READY;
	if (strncmp(path, API_PATH, strlen(API_PATH)) != 0)
		return WEB_ENDPOINT_MAX;
	path += strlen(API_PATH);
	for (unsigned i = 0; i < WEB_ENDPOINT_MAX; i++)
		if (web_endpoints[i].path[0] && strcmp(web_endpoints[i].path, path) == 0 &&
		    strcmp(web_endpoints[i].method ?: "GET", method) == 0)
			return i;
	return WEB_ENDPOINT_MAX;
}

struct given_params {
	struct web_param_text items[WEB_PARAMS_MAX];
	size_t n_items; /* all that came */
};

static void add_param(void *ctx, const char *name, const char *value)
{
	struct given_params *g = ctx;

	if (g->n_items < WEB_PARAMS_MAX)
		g->items[g->n_items] = (struct web_param_text){name, value};
	g->n_items++;
}

static int read_params(struct http_exchange *x, enum web_endpoint_id id, struct request *r,
		       struct err *err)
{
	struct given_params given = {.n_items = 0};

	/* who probes it may add what he likes */
	if (id != WEB_READY)
		http_exchange_each_param(x, add_param, &given);
	if (given.n_items > WEB_PARAMS_MAX)
		return err_set(err, -EINVAL, "there are more than %u parameters", WEB_PARAMS_MAX);
	return web_params_parse(&r->params, id, given.items, given.n_items,
				(int64_t)(r->asked_ns / NS_PER_MS), err);
}

static int read_text(struct http_exchange *x, struct request *r, struct err *err)
{
	size_t len;
	const char *body = http_exchange_body(x, &len);

	if (!r->endpoint->takes_text || len == 0)
		return 0;
	if (len > NOTE_STORE_TEXT_BYTES)
		return err_set(err, -EINVAL, "the text is longer than %u bytes",
			       NOTE_STORE_TEXT_BYTES);
	if (memchr(body, 0, len))
		return err_set(err, -EINVAL, "the text is not UTF-8");
	memcpy(r->text, body, len);
	r->params.text = r->text;
	return 0;
}

void web_api_serve(struct query_jobs *jobs, struct http_exchange *x)
{
	struct request *r;
	enum web_endpoint_id id = find_endpoint(http_exchange_method(x), http_exchange_path(x));
	struct err err = {""};

	if (id == WEB_ENDPOINT_MAX) {
		refuse_path(jobs, x);
		return;
	}
	r = calloc(1, sizeof(*r));
	if (!r) {
		query_jobs_count_busy(jobs);
		respond_error(x, 503, "out of memory");
		return;
	}
	r->endpoint = &web_endpoints[id];
	r->asked_ns = clock_realtime_ns();
	r->job = (struct query_job){
		.ops = &ops,
		.exchange = x,
		.is_large = r->endpoint->is_large,
		.has_stacks = r->endpoint->has_stacks,
	};
	if (read_params(x, id, r, &err) < 0 || read_text(x, r, &err) < 0) {
		query_jobs_count_bad_request(jobs);
		respond_error(x, 400, err.msg);
		free(r);
		return;
	}
	r->params.filter.ticket = r->params.base.ticket = &r->job.ticket;
	r->params.filter.stacks = query_jobs_stacks(jobs);
	r->params.filter.symbols = query_jobs_symbols(jobs);
	r->params.sources = query_jobs_sources(jobs);
	query_jobs_submit(jobs, &r->job);
}

/* ---- the page ---- */

static const struct web_asset *find_asset(const char *path)
{
	for (size_t i = 0; i < n_web_assets; i++)
		if (strcmp(web_assets[i].path, path) == 0)
			return &web_assets[i];
	return NULL;
}

void web_page_serve(void *ctx, struct http_exchange *x)
{
	const char *path = http_exchange_path(x);
	const struct web_asset *a = find_asset(strcmp(path, "/targets") == 0 ? "/" : path);

	(void)ctx;
	if (!a) {
		http_respond_text(x, 404, "not found");
		return;
	}
	web_answer_header(x, "ETag", a->etag);
	web_answer_header(x, "Vary", "Accept"); /* /targets is also served as JSON */
	web_answer_header(x, "Cache-Control",
			  a->immutable ? "public, max-age=31536000, immutable" : "no-cache");
	if (web_answer_is_known(x, a->etag))
		http_respond(x, 304, NULL, NULL, 0);
	else
		http_respond_static(x, a->content_type, a->gzip, a->len, true);
}
