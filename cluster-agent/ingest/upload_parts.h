/*
 * What an upload holds once it is decoded: profiles, each with the service and labels it belongs
 * to. An upload of Coroot's wire holds one; those of other tools may hold many, of several
 * services. Whatever the number, an upload is stored as a whole or not at all.
 */
#ifndef CLUSTER_AGENT_INGEST_UPLOAD_PARTS_H
#define CLUSTER_AGENT_INGEST_UPLOAD_PARTS_H

#include "cluster-agent/store/row_batch.h"
#include "common/base.h"
#include "common/data/arena.h"
#include "common/err.h"
#include "common/pprof/profile.h"

/* Profiles in one upload. */
#define UPLOAD_PARTS_MAX 4096u

/* Borrowed from the arena or from the upload's sender. */
struct upload_part {
	struct row_text service;
	struct row_text host; /* "" if unknown */
	const struct row_label *labels;
	size_t n_labels;
	struct profile profile; /* types are "source:name:unit", or "" to skip one */
};

struct upload_parts {
	struct upload_part *items;
	size_t n; /* at most UPLOAD_PARTS_MAX; without any, the upload is stored and has no rows */
	struct profile_losses losses; /* of the whole upload, besides those of its profiles */
	/* More about what was left out, such as names of events; one line, NULL without. */
	const char *note;
};

/*
 * Decodes a body, which is untrusted, into parts that live in arena. Called on a worker thread;
 * ctx is the upload's and only read. The arena's limit bounds the memory. Pure.
 *
 * Returns 0, -EBADMSG if the body is invalid, -EFBIG if a limit is exceeded (both with one line in
 * err), or -ENOMEM.
 */
typedef int upload_decode_fn(struct upload_parts *ret, struct arena *arena, const void *ctx,
			     const void *body, size_t len, struct err *err);

#endif /* CLUSTER_AGENT_INGEST_UPLOAD_PARTS_H */
