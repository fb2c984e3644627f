#include "cluster-agent/receive/push_handler.h"

#include <stdatomic.h>
#include <strings.h>

#include "cluster-agent/push/ingest_body.h"
#include "cluster-agent/push/push_request.h"
#include "common/data/buf.h"
#include "common/system/clock.h"
#include "common/telemetry/log.h"
#include "common/text/json_writer.h"

#define JSON "application/json"
#define PROTOBUF "application/proto"
#define BAD_ENCODING "Content-Encoding must be " BODY_ENCODINGS
#define LEFT_OUT_HEADER "Coroot-Left-Out"
/* more than a whole request line may have */
#define MAX_SOURCE_BYTES ((size_t)64 * 1024)

/* One request while ingest works on it. */
struct request {
	struct push_handler *handler;
	struct http_exchange *exchange;
	const char *service; /* for the log; borrowed from the exchange */
	void (*answer)(struct request *r, enum upload_result result, const char *reason);
	union {
		struct ingest_request ingest;
		struct push_request push;
	};
	struct encoded_body encoded;
	struct buf source; /* what besides the body tells uploads apart */
	struct ingest_upload upload;
};

static void request_free(struct request *r)
{
	if (r)
		buf_fini(&r->source);
	free(r);
}
DEFINE_CLEANUP(struct request *, request_free);

static void upload_done(void *ctx, enum ingest_outcome outcome, const char *reason)
{
	CLEANUP(request_freep) struct request *r = ctx;

	r->answer(r, upload_result_of(outcome), reason);
}

/* Returns NULL if there is no memory for it. */
static struct request *request_new(struct push_handler *h, struct http_exchange *x)
{
	struct request *r = calloc(1, sizeof(*r));

	if (!r)
		return NULL;
	buf_init(&r->source, MAX_SOURCE_BYTES);
	r->handler = h;
	r->exchange = x;
	r->service = "";
	r->upload = (struct ingest_upload){.key = upload_key_of(x),
					   .is_repeat = upload_is_repeat(x),
					   .done = upload_done,
					   .ctx = r};
	r->upload.body = http_exchange_body(x, &r->upload.len);
	return r;
}

/* Sets how the body is decoded. Returns false if its encoding is not known. */
static bool set_decode(struct request *r, upload_decode_fn *decode, const void *ctx)
{
	r->encoded = (struct encoded_body){.decode = decode, .ctx = ctx};
	r->upload.decode = encoded_body_decode;
	r->upload.decode_ctx = &r->encoded;
	return body_encoding_find(&r->encoded.encoding,
				  http_exchange_header(r->exchange, "Content-Encoding"));
}

/* upload_done() frees r. */
static void submit(struct request *r)
{
	r->upload.source = (struct row_text){r->source.data, r->source.len};
	if (ingest_submit(r->handler->ingest, &r->upload) == 0)
		return;
	r->answer(r, UPLOAD_BUSY, "too many profiles are waiting");
	request_free(r);
}

/* ---- POST /ingest ---- */

static void answer_ingest(struct request *r, enum upload_result result, const char *reason)
{
	upload_result_note(r->handler->counters, r->exchange, result, r->service, reason);
	upload_result_respond(r->exchange, result, reason);
}

static void add_source(void *ctx, const char *name, const char *value)
{
	struct request *r = ctx;

	/* without memory the source is shorter, and tells fewer uploads apart */
	if (buf_addf(&r->source, "%s=%s&", name, value) < 0)
		return;
}

/*
 * Stacks of text have no time in them, so two equal bodies without one in the query are two uploads
 * unless the sender says otherwise.
 */
static void set_source(struct request *r)
{
	const struct ingest_query *q = &r->ingest.query;
	char number[48];

	add_source(r, "path", "ingest");
	http_exchange_each_param(r->exchange, add_source, r);
	snprintf(number, sizeof(number), "%lld.%llu", (long long)r->ingest.now_ns,
		 (unsigned long long)atomic_fetch_add(&r->handler->n_uploads, 1));
	if (!q->from && !q->until)
		add_source(r, "now", number);
}

void push_handler_serve_ingest(void *ctx, struct http_exchange *x)
{
	struct push_handler *h = ctx;
	struct request *r = request_new(h, x);

	if (!r) {
		upload_result_note(h->counters, x, UPLOAD_FAILED, "", "out of memory");
		http_respond_text(x, upload_result_status(UPLOAD_FAILED), "out of memory");
		return;
	}
	r->answer = answer_ingest;
	r->service = http_exchange_param(x, "name") ?: "";
	r->ingest = (struct ingest_request){
		.query =
			{
				.name = http_exchange_param(x, "name"),
				.from = http_exchange_param(x, "from"),
				.until = http_exchange_param(x, "until"),
				.format = http_exchange_param(x, "format"),
				.spy_name = http_exchange_param(x, "spyName"),
				.sample_rate = http_exchange_param(x, "sampleRate"),
				.units = http_exchange_param(x, "units"),
				.aggregation_type = http_exchange_param(x, "aggregationType"),
			},
		.content_type = http_exchange_header(x, "Content-Type"),
		.now_ns = (int64_t)clock_realtime_ns(),
	};
	set_source(r);
	if (!set_decode(r, ingest_body_decode, &r->ingest)) {
		upload_result_note(h->counters, x, UPLOAD_BAD_PARAMS, r->service, BAD_ENCODING);
		http_respond_text(x, 415, "%s", BAD_ENCODING);
		request_free(r);
		return;
	}
	submit(r);
}

/* ---- POST /push.v1.PusherService/Push ---- */

/* https://connectrpc.com/docs/protocol#error-codes */
static void respond_error(struct http_exchange *x, unsigned status, const char *code,
			  const char *message)
{
	struct buf body;
	struct json_writer w;
	size_t len;
	char *text;

	buf_init(&body, MAX_SOURCE_BYTES);
	json_writer_init(&w, &body);
	json_open(&w, '{');
	json_member_text(&w, "code", code);
	json_member_text(&w, "message", message);
	json_close(&w, '}');
	if (json_writer_finish(&w) < 0)
		buf_truncate(&body, 0);
	text = buf_take(&body, &len);
	http_respond(x, status, JSON, text, len);
}

static void answer_push(struct request *r, enum upload_result result, const char *reason)
{
	static const char *const codes[UPLOAD_RESULT_MAX] = {
		[UPLOAD_BAD_PARAMS] = "invalid_argument", [UPLOAD_BAD_PROFILE] = "invalid_argument",
		[UPLOAD_TOO_LARGE] = "invalid_argument",  [UPLOAD_BUSY] = "unavailable",
		[UPLOAD_LOG_FULL] = "unavailable",        [UPLOAD_DISK_FULL] = "unavailable",
		[UPLOAD_FAILED] = "unavailable",
	};
	struct http_exchange *x = r->exchange;
	unsigned status = upload_result_status(result);

	upload_result_note(r->handler->counters, x, result, r->service, reason);
	/* the protocol's answer has no place for it; without memory, the log has it */
	if (result == UPLOAD_STORED && reason[0] &&
	    http_exchange_set_header(x, LEFT_OUT_HEADER, reason) < 0)
		log_debug("answering without a header", "name=%s", LEFT_OUT_HEADER);
	if (result != UPLOAD_STORED)
		respond_error(x, status, codes[result], reason);
	else if (r->push.codec == PUSH_JSON)
		http_respond_static(x, JSON, "{}", 2, false);
	else
		http_respond(x, status, PROTOBUF, NULL, 0);
}

/* Whether the media type is this one; parameters are ignored. */
static bool is_type(const char *content_type, const char *type)
{
	size_t len = strcspn(content_type, "; \t");

	return len == strlen(type) && strncasecmp(content_type, type, len) == 0;
}

void push_handler_serve_push(void *ctx, struct http_exchange *x)
{
	struct push_handler *h = ctx;
	const char *type = http_exchange_header(x, "Content-Type") ?: "";
	bool is_json = is_type(type, JSON);
	struct request *r;

	if (!is_json && !is_type(type, PROTOBUF)) {
		static const char reason[] =
			"Content-Type is neither " PROTOBUF " nor " JSON " (Connect over HTTP/1.1)";

		upload_result_note(h->counters, x, UPLOAD_BAD_PARAMS, "", reason);
		respond_error(x, 415, "unknown", reason);
		return;
	}
	r = request_new(h, x);
	if (!r) {
		upload_result_note(h->counters, x, UPLOAD_FAILED, "", "out of memory");
		respond_error(x, upload_result_status(UPLOAD_FAILED), "unavailable",
			      "out of memory");
		return;
	}
	r->answer = answer_push;
	r->push = (struct push_request){.codec = is_json ? PUSH_JSON : PUSH_PROTOBUF,
					.now_ns = (int64_t)clock_realtime_ns()};
	add_source(r, "path", "push");
	if (!set_decode(r, push_request_decode, &r->push)) {
		upload_result_note(h->counters, x, UPLOAD_BAD_PARAMS, "", BAD_ENCODING);
		respond_error(x, 415, "unknown", BAD_ENCODING);
		request_free(r);
		return;
	}
	submit(r);
}
