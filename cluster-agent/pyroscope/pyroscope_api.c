/*
 * A call with a wrong method, content type or encoding is refused at once; its message is decoded
 * on the thread that answers it.
 *
 * Answers to GET are gzipped by the server. Calls are POST, so theirs are gzipped here.
 */
#include "cluster-agent/pyroscope/pyroscope_api.h"

#include <errno.h>

#include "cluster-agent/pyroscope/connect_message.h"
#include "cluster-agent/pyroscope/querier_methods.h"
#include "cluster-agent/pyroscope/render_query.h"
#include "cluster-agent/web/query_jobs.h"
#include "cluster-agent/web/web_answer.h"
#include "common/data/gzip.h"
#include "common/http/http_text.h"
#include "common/system/clock.h"

#define MAX_ERROR_BYTES 4096u
#define GZIP_FROM_BYTES 1024u
#define GZIP_LEVEL 3
#define MAX_GZIP_BYTES ((size_t)256 << 20)

struct call {
	struct query_job job; /* first */
	const struct querier_method *method;
	const struct render_endpoint *render; /* in its place */
	enum connect_codec codec;
	bool gzipped; /* the body of the request */
};

static void respond_error(struct http_exchange *x, unsigned status, const char *code,
			  const char *reason)
{
	CLEANUP(buf_fini) struct buf b;
	size_t len;
	char *body;

	buf_init(&b, MAX_ERROR_BYTES);
	if (status == 503)
		web_answer_header(x, "Retry-After", "1");
	if (connect_error_write(code, reason, &b) < 0) {
		http_respond(x, status, "application/json", NULL, 0);
		return;
	}
	body = buf_take(&b, &len);
	http_respond(x, status, "application/json", body, len);
}

/* ---- on a thread of the pool ---- */

static void call_fini(struct querier_call *c)
{
	arena_fini(&c->arena);
}

static int decode(const struct call *call, struct connect_request *ret, struct err *err)
{
	const ProtobufCMessageDescriptor *type = call->method->request;
	CLEANUP(buf_fini) struct buf plain;
	size_t len;
	const void *body = http_exchange_body(call->job.exchange, &len);

	buf_init(&plain, CONNECT_MAX_REQUEST_BYTES);
	if (call->gzipped) {
		int r = gzip_inflate(body, len, &plain);

		if (r < 0)
			return r == -ENOMEM ? r : err_set(err, -EINVAL, "the body is not gzip");
		body = plain.data;
		len = plain.len;
	}
	return connect_request_decode(ret, type, call->codec, body, len, err);
}

static int ask_method(const struct call *call, struct querier_call *c, struct buf *out,
		      struct err *err)
{
	CLEANUP(connect_request_fini) struct connect_request request = {.message = NULL};
	ProtobufCMessage *answer = NULL;
	int r = decode(call, &request, err);

	if (r < 0)
		return r;
	r = call->method->answer(c, request.message, &answer, err);
	if (r < 0)
		return r;
	return connect_encode(answer, call->codec, out);
}

static const char *get_param(void *x, const char *name)
{
	const char *value = http_exchange_param(x, name);

	return value ? value : "";
}

static int ask(struct query_job *j, struct buf *out, struct err *err)
{
	const struct call *call = (const struct call *)j;
	CLEANUP(call_fini)
	struct querier_call c = {
		.store = query_jobs_store(j->jobs),
		.stacks = query_jobs_stacks(j->jobs),
		.symbols = query_jobs_symbols(j->jobs),
		.ticket = &j->ticket,
		.now_ms = (int64_t)(clock_realtime_ns() / NS_PER_MS),
	};

	arena_init(&c.arena, QUERIER_ARENA_BYTES);
	return call->render ? call->render->answer(&c, get_param, j->exchange, out, err)
			    : ask_method(call, &c, out, err);
}

static void send(struct query_job *j, char *body_adopt, size_t len)
{
	const struct call *call = (const struct call *)j;
	const char *type = connect_content_type(call->codec);
	const char *accepted = http_exchange_header(j->exchange, "Accept-Encoding");
	CLEANUP(buf_fini) struct buf zipped;

	buf_init(&zipped, MAX_GZIP_BYTES);
	if (call->method && len >= GZIP_FROM_BYTES && http_accepts(accepted, "gzip") &&
	    gzip_deflate(body_adopt, len, GZIP_LEVEL, &zipped) == 0 &&
	    http_exchange_set_header(j->exchange, "Content-Encoding", "gzip") == 0) {
		free(body_adopt);
		body_adopt = buf_take(&zipped, &len);
	}
	http_respond(j->exchange, 200, type, body_adopt, len);
}

static void fail(struct query_job *j, unsigned status, int error, const char *reason)
{
	struct connect_error e = connect_error_of(error);

	(void)status;
	respond_error(j->exchange, e.status, e.code, reason);
}

static void free_call(struct query_job *j)
{
	free(j);
}

static const struct query_job_ops ops = {ask, send, fail, free_call};

/* ---- on a thread of the server ---- */

struct refusal {
	unsigned status;
	const char *code;
	const char *reason;
};

/* Reads the headers of a call. A status of 0: they are fine. */
static struct refusal read_headers(const struct http_exchange *x, struct call *call)
{
	const char *version = http_exchange_header(x, "Connect-Protocol-Version");
	const char *encoding = http_exchange_header(x, "Content-Encoding");

	call->codec = connect_codec_find(http_exchange_header(x, "Content-Type"));
	if (call->codec == CONNECT_CODEC_MAX)
		return (struct refusal){415, "invalid_argument",
					"the body must be application/proto or application/json"};
	if (version && strcmp(version, "1") != 0)
		return (struct refusal){400, "invalid_argument",
					"Connect-Protocol-Version is not 1"};
	call->gzipped = encoding && strcasecmp(encoding, "gzip") == 0;
	if (encoding && !call->gzipped && strcasecmp(encoding, "identity") != 0)
		return (struct refusal){501, "unimplemented",
					"Content-Encoding is not gzip or identity"};
	return (struct refusal){0, NULL, NULL};
}

static struct refusal read_call(const struct http_exchange *x, struct call *call)
{
	const char *path = http_exchange_path(x);

	call->render = render_endpoint_find(path);
	call->method = querier_method_find(path);
	if (call->render) {
		call->codec = CONNECT_JSON;
		call->job.has_stacks = call->render->has_stacks;
		return (struct refusal){0, NULL, NULL};
	}
	if (!call->method)
		return (struct refusal){501, "unimplemented", "this method is not served"};
	call->job.is_large = call->method->is_large;
	call->job.has_stacks = call->method->has_stacks;
	return read_headers(x, call);
}

void pyroscope_api_serve(struct query_jobs *jobs, struct http_exchange *x)
{
	struct call *call = calloc(1, sizeof(*call));
	struct refusal refusal;

	if (!call) {
		query_jobs_count_busy(jobs);
		respond_error(x, 503, "unavailable", "out of memory");
		return;
	}
	call->job.ops = &ops;
	call->job.exchange = x;
	refusal = read_call(x, call);
	if (refusal.status == 0) {
		query_jobs_submit(jobs, &call->job);
		return;
	}
	query_jobs_count_bad_request(jobs);
	respond_error(x, refusal.status, refusal.code, refusal.reason);
	free(call);
}
