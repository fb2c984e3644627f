/*
 * Questions to the store after an insert whose outcome is unknown: because the agent or the server
 * was killed during it, or because its answer was lost.
 *
 * The token of such an insert cannot be relied on (store_insert()). The rows can be looked for
 * instead: an insert is atomic within a partition, so a few of its rows stand for all. Threads and
 * errors are those of store_query().
 */
#ifndef CLUSTER_AGENT_STORE_STORE_PROBE_H
#define CLUSTER_AGENT_STORE_STORE_PROBE_H

#include "cluster-agent/store/store.h"
#include "common/base.h"

/*
 * Sets found[i] if the table of quality has a row of the upload ids[i]. It is the last table that
 * is written, so nothing of such an upload is missing.
 */
int store_find_uploads(struct store *s, const uint64_t *ids, size_t n, bool *found,
		       struct err *err) MUST_CHECK;

/*
 * Sets days[i] to the partition of rows of quarters[i] (STORE_QUARTER_S): days since the epoch in
 * the time zone of the store, at the present.
 */
int store_find_days(struct store *s, const uint64_t *quarters, size_t n, uint32_t *days,
		    struct err *err) MUST_CHECK;

/* Appends ids as the value of a parameter of type Array(UInt64). Returns what buf_add() does. */
int store_add_ids(struct buf *out, const uint64_t *ids, size_t n) MUST_CHECK;
/* Ids of one query. */
#define STORE_IDS_AT_ONCE 4096u

/*
 * Asks for the first row of a frame of samples. Returns 1 if it is there, 0 if not, -EBADMSG if the
 * frame cannot be read, or an error of store_query().
 */
int store_find_samples(struct store *s, const struct store_frame *frame,
		       struct err *err) MUST_CHECK;

/*
 * Returns 1 if the tables are replicated: a token is then written together with its rows, always
 * right, and must be relied on, because a replica may answer before it has the rows. Else 0 or an
 * error of store_query().
 */
int store_has_exact_tokens(struct store *s, struct err *err) MUST_CHECK;

/*
 * Writes the service of the frame's first row, which is the first column of every table, or "" if
 * the frame cannot be read. Pure.
 */
void store_frame_service(const struct store_frame *frame, char *ret, size_t size);

#endif /* CLUSTER_AGENT_STORE_STORE_PROBE_H */
