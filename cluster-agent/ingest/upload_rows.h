/*
 * The bytes of one upload → frames of rows:
 *
 *	decode (pprof_decode.h) ─► stacks and values (profile_rows.h) ─► frames (row_batch.h)
 *
 * Pure, but for the cache of known stacks and the table of types.
 */
#ifndef CLUSTER_AGENT_INGEST_UPLOAD_ROWS_H
#define CLUSTER_AGENT_INGEST_UPLOAD_ROWS_H

#include "cluster-agent/ingest/seen_stacks.h"
#include "cluster-agent/ingest/service_types.h"
#include "cluster-agent/ingest/upload_parts.h"
#include "cluster-agent/store/row_batch.h"
#include "common/base.h"
#include "common/data/arena.h"
#include "common/err.h"

/* Borrowed. */
struct upload {
	const void *body; /* pprof, gzipped or not */
	size_t len;
	struct row_text service;
	struct row_text host; /* "" if unknown */
	const struct row_label *labels;
	size_t n_labels;
	upload_decode_fn *decode; /* NULL: body is a pprof of the service above */
	const void *decode_ctx;
};

struct upload_rows_config {
	int64_t now_ns;              /* time of a profile without a credible one */
	int64_t max_age_ns;          /* older ones move to now_ns: profile_rows.h */
	struct seen_stacks *seen;    /* NULL: no stack is known */
	struct service_types *types; /* NULL: services may have any number of types */
	uint64_t upload;             /* what column Upload of profiling_quality gets */
};

/* Of a service's name; the end of a longer one is replaced by a hash of it. */
#define UPLOAD_SERVICE_BYTES 512u
/* Of the frames of one stack, whose outermost frames are cut beyond that. */
#define UPLOAD_STACK_TEXT_BYTES ((size_t)8 * 1024 * 1024)

/* Of struct upload_rows.left_out. */
#define UPLOAD_LEFT_OUT_BYTES 512u

/* Of rows that are stored at the time of their arrival; value: clock_skew_text(). */
#define CLOCK_SKEW_LABEL "clock.skew"

/* A host whose clock is wrong. */
struct upload_skew {
	struct row_text host; /* the part's; valid as long as that is */
	int64_t skew_ns;
};

#define UPLOAD_ROWS_MAX_SKEWS 8u /* hosts of one upload that are reported */

struct upload_rows {
	struct seen_stack *stacks; /* those that have a row; freed with free(3) */
	size_t n_stacks;
	size_t n_known; /* stacks without a row */
	uint64_t n_samples;
	int64_t last_seen_ns;         /* of the rows of stacks; of several parts, the earliest */
	struct profile_losses losses; /* of all parts and of the upload */
	/* The losses in one line for people, with the upload's note; "" if nothing was lost. */
	char left_out[UPLOAD_LEFT_OUT_BYTES];
	uint64_t n_moved;                                /* parts whose time was not credible */
	struct upload_skew skews[UPLOAD_ROWS_MAX_SKEWS]; /* their hosts, each once */
	size_t n_skews;
};

/*
 * Fills batch, which is empty. Everything else is in arena, to be cleared afterwards. Returns 0 and
 * *ret, -EBADMSG if it is not a profile, -EFBIG if it exceeds a limit (both with one line in err),
 * or -ENOMEM.
 */
int upload_rows_make(struct upload_rows *ret, struct row_batch *batch, const struct upload *u,
		     const struct upload_rows_config *cfg, struct arena *arena,
		     struct err *err) MUST_CHECK;

#endif /* CLUSTER_AGENT_INGEST_UPLOAD_ROWS_H */
