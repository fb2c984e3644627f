/*
 * A segment of the log → pieces, each of which is one insert. Pure.
 *
 * The pieces of a segment depend on its frames, and on which quarters of an hour are of the same
 * day where the store is. So a repetition, also by another process, makes the same ones with the
 * same tokens, unless somebody has given the store another time zone. Each is of one table and one
 * partition of it, which is a day, and within the limits of store_insert(), so the store takes all
 * of it or nothing.
 */
#ifndef CLUSTER_AGENT_WAL_DRAIN_PIECES_H
#define CLUSTER_AGENT_WAL_DRAIN_PIECES_H

#include "cluster-agent/store/store.h"
#include "cluster-agent/wal/upload_log.h"
#include "common/base.h"

/* A range of drain_pieces.frames[table]. */
struct drain_piece {
	enum store_table table;
	uint32_t first;
	uint32_t n;
};

/* The days of quarters (store_find_days()). */
struct drain_days {
	uint64_t *quarters; /* ascending, one each */
	uint32_t *days;
	size_t n; /* 0: not known, so that a piece is of one quarter */
};

/*
 * Sets ret->quarters to those of the segment, and makes room for their days. Returns 0 or -ENOMEM;
 * drain_days_fini() is called in every case.
 */
int drain_days_make(struct drain_days *ret, const struct log_segment_content *segment) MUST_CHECK;
void drain_days_fini(struct drain_days *d);

/* Frames are borrowed from the segment. */
struct drain_pieces {
	const struct log_frame **frames[STORE_TABLE_MAX]; /* by quarter, then as appended */
	size_t n_frames[STORE_TABLE_MAX];
	struct drain_piece *pieces; /* in the order of enum store_table */
	size_t n_pieces;
};

/* Returns 0 or -ENOMEM; drain_pieces_fini() is called in every case. */
int drain_pieces_make(struct drain_pieces *ret, const struct log_segment_content *segment,
		      const struct drain_days *days) MUST_CHECK;
void drain_pieces_fini(struct drain_pieces *p);

/*
 * Another attempt is another insert for the store, for use when it knows the token and has not got
 * the rows. ret has room for STORE_TOKEN_BYTES + 1.
 */
void drain_piece_token(const struct drain_piece *piece, const char *segment_token, unsigned attempt,
		       char *ret);

#endif /* CLUSTER_AGENT_WAL_DRAIN_PIECES_H */
