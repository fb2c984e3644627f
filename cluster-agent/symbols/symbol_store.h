/*
 * The names of functions of many builds, by build id: tables (symbol_file.h) in a directory, within
 * a limit of bytes. What was not asked for longest is removed first; the time is that of the file's
 * last modification, so that it outlives the agent. Of two tables of one build, the store keeps the
 * one with more functions; of equal ones that of the program, which knows offsets in it.
 *
 * Any thread. A thread that asks waits while a table is opened, which reads its addresses once.
 */
#ifndef CLUSTER_AGENT_SYMBOLS_SYMBOL_STORE_H
#define CLUSTER_AGENT_SYMBOLS_SYMBOL_STORE_H

#include "cluster-agent/symbols/build_key.h"
#include "common/base.h"
#include "common/err.h"
#include "common/pprof/code_file.h"
#include "common/symbols/symbol_file.h"
#include "common/telemetry/metrics.h"

#define SYMBOL_STORE_TABLES_MAX 50000u
#define SYMBOL_STORE_OPEN_MAX 64u /* files, and as many again that queries still use */

struct debuginfod;
struct symbol_store;

struct symbol_store_config {
	const char *dir;       /* is made; the directory above must exist */
	uint64_t max_bytes;    /* of all tables */
	uint64_t lock_wait_ns; /* how long to wait for another process to end that has it */
};

/*
 * Returns 0, -ENOMEM, or with a sentence in err -EBUSY if another process has the directory, or
 * another -errno if it cannot be used.
 */
int symbol_store_open(struct symbol_store **ret, const struct symbol_store_config *cfg,
		      struct err *err) MUST_CHECK;
void symbol_store_close(struct symbol_store *s);
DEFINE_CLEANUP(struct symbol_store *, symbol_store_close);

/* coroot_cluster_agent_symbol_*; s must outlive ms. */
int symbol_store_register(struct symbol_store *s, struct metrics *ms) MUST_CHECK;

enum symbol_put {
	SYMBOL_PUT_STORED,
	SYMBOL_PUT_REPLACED, /* a table that knew less */
	SYMBOL_PUT_KNOWN,    /* the store has the same, or more */
};

/*
 * Checks and stores a table, so that it is on disk when this returns. Returns 0 with *ret set;
 * -EBADMSG if it is none, -EFBIG if it is larger than all may be together, both with a sentence in
 * err; -ENOMEM; or an error of writing, such as -ENOSPC.
 */
int symbol_store_put(struct symbol_store *s, const void *table, size_t len, enum symbol_put *ret,
		     struct err *err) MUST_CHECK;

/* A number that changes when more names may be known; 0: there are none. */
uint64_t symbol_store_generation(struct symbol_store *s);

/*
 * Finds the name of the function that a frame without one is of. Returns 0; -ENOENT if there is no
 * table of the build, or no function in it; -ENODATA if the place is an offset, and the table is of
 * a debug file, which does not say where code lies in the program; or an error of reading.
 */
int symbol_store_find(struct symbol_store *s, const struct code_place_text *place,
		      struct symbol_name *ret) MUST_CHECK;

/* Names that were found, but had no room in an answer. */
void symbol_store_count_without_room(struct symbol_store *s, uint64_t n);

/* Whether there is a table of the build, which knows offsets if needs_offsets. */
bool symbol_store_has(struct symbol_store *s, const struct build_key *k, bool needs_offsets);

/* The directory, for what belongs to the tables; borrowed. */
int symbol_store_dir(const struct symbol_store *s);

/* Where tables of builds that are missing come from; borrowed. NULL: from uploads alone. */
void symbol_store_set_debuginfod(struct symbol_store *s, struct debuginfod *d);
struct debuginfod *symbol_store_debuginfod(const struct symbol_store *s);

#endif /* CLUSTER_AGENT_SYMBOLS_SYMBOL_STORE_H */
