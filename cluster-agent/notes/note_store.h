/*
 * What readers write down, in the table profiling_notes: a note about an application or about all
 * of them, at a moment, with the address of a view of the page; and snapshots, which are notes
 * with the flame graph itself, so that it outlives its profiles. All of it is text of strangers,
 * and reaches the store as rows and bound parameters only.
 *
 * Blocks on the store: call it from a thread that may wait.
 */
#ifndef CLUSTER_AGENT_NOTES_NOTE_STORE_H
#define CLUSTER_AGENT_NOTES_NOTE_STORE_H

#include "cluster-agent/query/read/query_filter.h"
#include "common/base.h"
#include "common/data/arena.h"
#include "common/data/buf.h"
#include "common/err.h"

struct store;

/* All notes together; beyond, none is added. */
#define NOTE_STORE_MAX_NOTES 10000u
#define NOTE_STORE_MAX_BYTES (UINT64_C(1) << 30) /* of snapshots */
/* A note: characters of its name, which are code points, and bytes of its other texts. */
#define NOTE_STORE_NAME_CHARACTERS 100u
#define NOTE_STORE_TEXT_BYTES 4000u
#define NOTE_STORE_URL_BYTES 8000u
/* A snapshot: of each side, as gzipped pprof. */
#define NOTE_STORE_SIDE_BYTES ((size_t)8 << 20)
/* Notes of one list. */
#define NOTE_STORE_MAX_LISTED 1000u

/* Texts are UTF-8; "" if there is none. */
struct note {
	uint64_t id;
	const char *service; /* "": about all applications */
	const char *type;
	const char *name;
	const char *text;
	const char *url; /* the query of the page's address: "" or "?..." */
	int64_t at_ns;   /* the moment that it is about */
	int64_t created_ns;
	int64_t expires_ns;    /* until then it is there; to be added: 0 means --notes-ttl */
	uint64_t n_bytes;      /* of the snapshot; 0: there is none */
	uint64_t n_base_bytes; /* of the side that it is compared with */
};

struct note_list {
	struct arena arena;
	struct note *items; /* the latest moment first */
	size_t n_items;
	uint64_t n; /* how many there are */
};

/*
 * Notes about f->service and about all applications; every note if f->service is NULL or "". id is
 * that of the only one to list, or 0. Released with arena_fini(&ret->arena). Like all functions
 * here: returns 0, -ENOSYS with a sentence if the store keeps no notes, or an error of
 * bound_query_run().
 */
int note_store_list(struct store *store, const struct query_filter *f, uint64_t id, uint32_t limit,
		    struct note_list *ret, struct err *err) MUST_CHECK;

/*
 * Adds a note: fills in id, created_ns, expires_ns and the sizes. body and base, as pprof, may be
 * NULL. -EINVAL if there are too many notes already, or an error of store_insert().
 */
int note_store_add(struct store *store, const struct store_ticket *ticket, struct note *n,
		   const struct buf *body, const struct buf *base, struct err *err) MUST_CHECK;

/* -ENOENT if there is no such note. */
int note_store_delete(struct store *store, const struct store_ticket *ticket, uint64_t id,
		      struct err *err) MUST_CHECK;

/* Appends one side of a snapshot. -ENOENT if there is none. */
int note_store_read(struct store *store, const struct store_ticket *ticket, uint64_t id,
		    bool is_base, struct buf *out, struct err *err) MUST_CHECK;

#endif /* CLUSTER_AGENT_NOTES_NOTE_STORE_H */
