#include "cluster-agent/otlp/otlp_handler.h"

#include <errno.h>
#include <strings.h>

#include "cluster-agent/otlp/otlp_upload.h"
#include "common/pprof/pprof_wire.h"
#include "common/text/json_writer.h"

#define PROTOBUF "application/x-protobuf"
#define JSON "application/json"

#define MAX_ANSWER_BYTES 4096u

struct otlp_handler {
	struct otlp_handler_config cfg;
};

/* One request while ingest works on it. */
struct request {
	struct otlp_handler *handler;
	struct http_exchange *exchange;
	struct otlp_upload upload;
};

static void request_free(struct request *r)
{
	otlp_upload_fini(&r->upload);
	free(r);
}
DEFINE_CLEANUP(struct request *, request_free);

/* ---- answers ---- */

static int write_partial_protobuf(const struct otlp_parts_report *report, struct buf *out)
{
	enum { PARTIAL_SUCCESS = 1, REJECTED_PROFILES = 1, ERROR_MESSAGE = 2 };
	CLEANUP(buf_fini) struct buf partial;
	struct wire_writer inner = {.out = &partial}, outer = {.out = out};

	buf_init(&partial, MAX_ANSWER_BYTES);
	wire_writer_put_number(&inner, REJECTED_PROFILES, report->n_rejected);
	wire_writer_put_bytes(&inner, ERROR_MESSAGE, report->reason.msg,
			      strlen(report->reason.msg));
	if (inner.error == 0)
		wire_writer_put_bytes(&outer, PARTIAL_SUCCESS, partial.data, partial.len);
	return inner.error < 0 ? inner.error : outer.error;
}

static int write_json(const struct otlp_parts_report *report, struct buf *out)
{
	struct json_writer w;
	char number[24];

	json_writer_init(&w, out);
	json_open(&w, '{');
	if (report->n_rejected > 0 || report->reason.msg[0]) {
		snprintf(number, sizeof(number), "%llu", (unsigned long long)report->n_rejected);
		json_key(&w, "partialSuccess");
		json_open(&w, '{');
		json_member_text(&w, "rejectedProfiles", number);
		json_member_text(&w, "errorMessage", report->reason.msg);
		json_close(&w, '}');
	}
	json_close(&w, '}');
	return json_writer_finish(&w);
}

int otlp_answer_write(const struct otlp_parts_report *report, bool is_json, struct buf *out)
{
	if (is_json)
		return write_json(report, out);
	/* a message without fields has an empty body */
	return report->n_rejected > 0 || report->reason.msg[0] ? write_partial_protobuf(report, out)
							       : 0;
}

/* google.rpc.Status. The code is the one that gRPC would answer with; readers use the message. */
static int write_status(unsigned status, const char *reason, bool is_json, struct buf *out)
{
	enum { CODE = 1, MESSAGE = 2, INVALID_ARGUMENT = 3, UNAVAILABLE = 14 };
	int64_t code = status == 503 ? UNAVAILABLE : INVALID_ARGUMENT;
	struct wire_writer wire = {.out = out};
	struct json_writer w;

	if (!is_json) {
		wire_writer_put_number(&wire, CODE, (uint64_t)code);
		wire_writer_put_bytes(&wire, MESSAGE, reason, strlen(reason));
		return wire.error;
	}
	json_writer_init(&w, out);
	json_open(&w, '{');
	json_member_int(&w, "code", code);
	json_member_text(&w, "message", reason);
	json_close(&w, '}');
	return json_writer_finish(&w);
}

static void respond(struct http_exchange *x, unsigned status, bool is_json, struct buf *body, int e)
{
	size_t len = 0;
	char *text = e == 0 ? buf_take(body, &len) : NULL;

	http_respond(x, e == 0 ? status : 503, is_json ? JSON : PROTOBUF, text, len);
}

static void refuse(struct otlp_handler *h, struct http_exchange *x, enum upload_result result,
		   unsigned status, bool is_json, const char *reason)
{
	CLEANUP(buf_fini) struct buf body;

	buf_init(&body, MAX_ANSWER_BYTES);
	upload_result_note(h->cfg.counters, x, result, "", reason);
	respond(x, status, is_json, &body, write_status(status, reason, is_json, &body));
}

static void upload_done(void *ctx, enum ingest_outcome outcome, const char *reason)
{
	CLEANUP(request_freep) struct request *r = ctx;
	enum upload_result result = upload_result_of(outcome);
	bool is_json = r->upload.is_json;
	CLEANUP(buf_fini) struct buf body = {0};

	if (result != UPLOAD_STORED) {
		refuse(r->handler, r->exchange, result, upload_result_status(result), is_json,
		       reason);
		return;
	}
	buf_init(&body, MAX_ANSWER_BYTES);
	upload_result_note(r->handler->cfg.counters, r->exchange, result, "", reason);
	respond(r->exchange, 200, is_json, &body,
		otlp_answer_write(&r->upload.report, is_json, &body));
}

/* ---- requests ---- */

/* The type without its parameters; returns false if it is none of ours. */
static bool read_content_type(const struct http_exchange *x, bool *ret_is_json)
{
	const char *type = http_exchange_header(x, "Content-Type");
	size_t len = type ? strcspn(type, "; ") : 0;

	*ret_is_json = len == strlen(JSON) && strncasecmp(type, JSON, len) == 0;
	return *ret_is_json || (len == strlen(PROTOBUF) && strncasecmp(type, PROTOBUF, len) == 0) ||
	       (len == strlen("application/protobuf") &&
		strncasecmp(type, "application/protobuf", len) == 0);
}

void otlp_handler_serve(void *ctx, struct http_exchange *x)
{
	struct otlp_handler *h = ctx;
	CLEANUP(request_freep) struct request *r = calloc(1, sizeof(*r));
	bool is_json = false;

	if (!r) {
		refuse(h, x, UPLOAD_FAILED, 503, false, "out of memory");
		return;
	}
	otlp_upload_init(&r->upload);
	if (!read_content_type(x, &is_json)) {
		refuse(h, x, UPLOAD_BAD_PARAMS, 415, false,
		       "Content-Type must be " PROTOBUF " or " JSON);
		return;
	}
	if (!body_encoding_find(&r->upload.encoding, http_exchange_header(x, "Content-Encoding"))) {
		refuse(h, x, UPLOAD_BAD_PARAMS, 415, is_json,
		       "Content-Encoding must be " BODY_ENCODINGS);
		return;
	}
	r->handler = h;
	r->exchange = x;
	r->upload.body = http_exchange_body(x, &r->upload.len);
	r->upload.is_json = is_json;
	r->upload.key = upload_key_of(x);
	r->upload.is_repeat = upload_is_repeat(x);
	r->upload.max_age_ns = (int64_t)h->cfg.profiles_ttl_ns;
	r->upload.done = upload_done;
	r->upload.ctx = r;
	if (otlp_upload_submit(&r->upload, h->cfg.ingest) < 0) {
		refuse(h, x, UPLOAD_BUSY, 503, is_json, "too many profiles are waiting");
		return;
	}
	/* upload_done() frees it, or already has */
	TAKE_PTR(r);
}

int otlp_handler_new(struct otlp_handler **ret, const struct otlp_handler_config *cfg)
{
	struct otlp_handler *h = calloc(1, sizeof(*h));

	if (!h)
		return -ENOMEM;
	h->cfg = *cfg;
	*ret = h;
	return 0;
}

void otlp_handler_free(struct otlp_handler *h)
{
	free(h);
}
