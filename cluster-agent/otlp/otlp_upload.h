/*
 * One OTLP request, however it came in, on its way through ingest: inflated, decoded and stored on
 * ingest's threads as one upload, so that a request that is repeated is stored once.
 *
 * Limits are those of /v1/profiles: LIMIT_UPLOAD_BYTES as received, LIMIT_UPLOAD_INFLATED_BYTES
 * inflated, and those of a profile for all profiles of the request together.
 */
#ifndef CLUSTER_AGENT_OTLP_OTLP_UPLOAD_H
#define CLUSTER_AGENT_OTLP_OTLP_UPLOAD_H

#include "cluster-agent/ingest/ingest.h"
#include "cluster-agent/otlp/otlp_parts.h"
#include "cluster-agent/push/body_encoding.h"
#include "common/base.h"
#include "common/data/buf.h"

struct otlp_upload {
	/* set by the caller; borrowed until done is called */
	const void *body;
	size_t len;
	enum body_encoding encoding;
	bool is_json;
	const char *key; /* as of struct ingest_upload */
	bool is_repeat;  /* likewise */
	int64_t max_age_ns;
	/* As ingest_done_fn; report is valid if the outcome is INGEST_STORED. The last access. */
	void (*done)(void *ctx, enum ingest_outcome outcome, const char *reason);
	void *ctx;
	/* the result */
	struct otlp_parts_report report;
	/* of otlp_upload.c */
	struct ingest_upload upload;
	struct buf inflated; /* parts refer to these bytes */
	struct buf message;  /* made of JSON */
};

/* Zeroes the members that the caller does not set; before it sets the others. */
void otlp_upload_init(struct otlp_upload *u);
/* After done. */
void otlp_upload_fini(struct otlp_upload *u);

/* As ingest_submit(). */
int otlp_upload_submit(struct otlp_upload *u, struct ingest *in) MUST_CHECK;

/*
 * Decodes as ingest will; an upload_decode_fn whose ctx is a struct otlp_upload, for tests. What is
 * returned refers to the upload.
 */
int otlp_upload_decode(struct upload_parts *ret, struct arena *arena, const void *ctx,
		       const void *body, size_t len, struct err *err) MUST_CHECK;

#endif /* CLUSTER_AGENT_OTLP_OTLP_UPLOAD_H */
