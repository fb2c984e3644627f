#include "cluster-agent/otlp/otlp_upload.h"

#include <errno.h>

#include "common/limits.h"
#include "common/protobuf/json_message.h"
#include "common/system/clock.h"
#include "proto/otlp_profiles.pb-c.h"

void otlp_upload_init(struct otlp_upload *u)
{
	*u = (struct otlp_upload){.body = NULL};
	buf_init(&u->inflated, LIMIT_UPLOAD_INFLATED_BYTES);
	buf_init(&u->message, LIMIT_UPLOAD_INFLATED_BYTES);
}

void otlp_upload_fini(struct otlp_upload *u)
{
	buf_fini(&u->inflated);
	buf_fini(&u->message);
}

int otlp_upload_decode(struct upload_parts *ret, struct arena *arena, const void *ctx,
		       const void *body, size_t len, struct err *err)
{
	/* ingest passes the context on as it got it; one upload is decoded once, by one thread */
	/* NOLINTNEXTLINE(performance-no-int-to-ptr) */
	struct otlp_upload *u = (struct otlp_upload *)(uintptr_t)ctx;
	const struct otlp_parts_config cfg = {
		.now_ns = (int64_t)clock_realtime_ns(),
		.max_age_ns = u->max_age_ns,
	};
	int e = 0;

	if (u->encoding != BODY_IDENTITY) {
		e = body_inflate(u->encoding, body, len, &u->inflated, err);
		body = u->inflated.data;
		len = u->inflated.len;
	}
	if (e == 0 && u->is_json) {
		e = json_message_encode(&otlp__export_profiles_service_request__descriptor,
					body ? body : "", len, &u->message, err);
		buf_fini(&u->inflated);
		body = u->message.data;
		len = u->message.len;
	}
	return e < 0 ? e
		     : otlp_parts_decode(ret, &u->report, arena, &cfg,
					 (struct otlp_bytes){body, len}, err);
}

/* The inflated body is freed before the upload waits for the disk. */
static void release(void *ctx)
{
	struct otlp_upload *u = ctx;

	buf_fini(&u->inflated);
	buf_fini(&u->message);
}

static void on_done(void *ctx, enum ingest_outcome outcome, const char *reason)
{
	struct otlp_upload *u = ctx;
	struct err *answer = &u->report.reason;
	size_t len = strlen(answer->msg);

	if (outcome == INGEST_STORED && reason[0])
		snprintf(answer->msg + len, sizeof(answer->msg) - len, "%s%s", len > 0 ? "; " : "",
			 reason);
	u->done(u->ctx, outcome, reason);
}

int otlp_upload_submit(struct otlp_upload *u, struct ingest *in)
{
	static const char *const sources[2][4] = {
		{"otlp", "otlp gzip", "otlp zstd", "otlp deflate"},
		{"otlp json", "otlp json gzip", "otlp json zstd", "otlp json deflate"},
	};
	const char *source = sources[u->is_json][u->encoding];

	u->upload = (struct ingest_upload){
		.body = u->body,
		.len = u->len,
		.decode = otlp_upload_decode,
		.decode_ctx = u,
		.release = release,
		.source = {source, strlen(source)},
		.key = u->key,
		.is_repeat = u->is_repeat,
		.done = on_done,
		.ctx = u,
	};
	return ingest_submit(in, &u->upload);
}
