/*
 * Frames of rows as the body of a request: a stream that can be read in pieces and started again,
 * without a copy of the frames. Pure.
 *
 * As it is (zstd), or inflated on the way for servers that do not know zstd.
 */
#ifndef CLUSTER_AGENT_STORE_CLICKHOUSE_BODY_H
#define CLUSTER_AGENT_STORE_CLICKHOUSE_BODY_H

#include "cluster-agent/store/store.h"
#include "common/base.h"

struct ZSTD_DCtx_s;

struct clickhouse_body {
	const struct store_frame *frames; /* borrowed */
	size_t n_frames;
	size_t i;                    /* the frame that is read next */
	size_t offset;               /* in it */
	struct ZSTD_DCtx_s *inflate; /* NULL: as it is */
};

/* Returns 0 or -ENOMEM. */
int clickhouse_body_init(struct clickhouse_body *b, const struct store_frame *frames,
			 size_t n_frames, bool inflate) MUST_CHECK;
void clickhouse_body_fini(struct clickhouse_body *b);

/* Starts again from the first byte. */
void clickhouse_body_rewind(struct clickhouse_body *b);

/* Fills ret with up to size bytes. Returns how many, 0 at the end, or -EBADMSG for bad frames. */
ssize_t clickhouse_body_read(struct clickhouse_body *b, void *ret, size_t size) MUST_CHECK;

#endif /* CLUSTER_AGENT_STORE_CLICKHOUSE_BODY_H */
