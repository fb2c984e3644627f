/*
 * Shared by the decoders of other tools' formats: nested and compressed bodies, and profiles with
 * types and times of other tools, which become parts of an upload. Pure; foreign data.
 */
#ifndef CLUSTER_AGENT_PUSH_FOREIGN_PART_H
#define CLUSTER_AGENT_PUSH_FOREIGN_PART_H

#include "cluster-agent/ingest/upload_parts.h"
#include "cluster-agent/push/series_labels.h"
#include "common/base.h"
#include "common/data/buf.h"
#include "common/pprof/profile.h"

/* Bytes that are inflated or decoded as needed. */
struct foreign_body {
	const char *data; /* borrowed, or in storage */
	size_t len;
	struct buf storage;
	/* bytes that all bodies of the upload together may still inflate to; borrowed */
	uint64_t *left_bytes;
};

void foreign_body_init(struct foreign_body *b, const void *data, size_t len, uint64_t *left_bytes);
void foreign_body_fini(struct foreign_body *b);

/*
 * Inflates the body if it is gzip. Returns 0, -EBADMSG if it is broken or holds gzip again, -EFBIG
 * (both with one line in err), or -ENOMEM.
 */
int foreign_body_inflate(struct foreign_body *b, struct err *err) MUST_CHECK;

/* A pprof, gzipped or not. Returns what pprof_decode() does. */
int foreign_pprof_decode(struct profile *ret, struct arena *arena, const void *data, size_t len,
			 uint64_t *left_bytes, struct err *err) MUST_CHECK;

struct foreign_context {
	const struct series_labels *labels;
	const char *metric; /* NULL: that of the labels */
	int64_t period_ns;  /* as in struct foreign_hints */
	int64_t start_ns;   /* the window if the request says it, else both 0 */
	int64_t end_ns;
	int64_t now_ns;
};

/*
 * Makes a part of p and what is known about it: types and times become ours. Texts are those of p
 * and the labels. Without a service it is "unspecified". Returns what foreign_types_apply() does.
 */
int foreign_part_make(struct upload_part *ret, const struct profile *p,
		      const struct foreign_context *c, struct err *err) MUST_CHECK;

/*
 * Names of functions as @pyroscope/nodejs writes them, "./app.js:leaf:4", without the file and the
 * line, which the function has as well. Pure; foreign data.
 */

/*
 * Replaces the name, by a copy in the arena, if it has that form. Returns 0, -EFBIG if the arena's
 * limit is exceeded, or -ENOMEM.
 */
int node_name_shorten(struct profile_function *f, struct arena *arena) MUST_CHECK;

#endif /* CLUSTER_AGENT_PUSH_FOREIGN_PART_H */
