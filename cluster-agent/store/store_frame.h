/* RowBinary rows → a frame for store_insert(). Pure. */
#ifndef CLUSTER_AGENT_STORE_STORE_FRAME_H
#define CLUSTER_AGENT_STORE_STORE_FRAME_H

#include "cluster-agent/store/store.h"
#include "common/base.h"
#include "common/data/buf.h"

/*
 * Appends the frame to out; ret refers to it there until out changes. len is not 0. Returns 0,
 * -EFBIG if out has no room, or -ENOMEM.
 */
int store_frame_pack(struct store_frame *ret, struct buf *out, const void *rows, size_t len,
		     uint64_t n_rows) MUST_CHECK;

#endif /* CLUSTER_AGENT_STORE_STORE_FRAME_H */
