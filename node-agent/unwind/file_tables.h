/*
 * The unwinding tables of executables and libraries, one for all processes that map the same code,
 * in memory that the walk in BPF reads.
 *
 * A table gets an index when its file is first seen and is built on demand by
 * file_tables_build_next(). All tables share a budget. A table that does not fit waits until parts
 * of others that samples do not come to, or others that are used less, have made room; until then
 * its code is unwound by frame pointers.
 *
 * One thread uses it.
 */
#ifndef NODE_AGENT_UNWIND_FILE_TABLES_H
#define NODE_AGENT_UNWIND_FILE_TABLES_H

#include "common/base.h"
#include "common/thread/deadline_call.h"
#include "node-agent/process/process_snapshot.h"
#include "node-agent/unwind/unwind_memory.h"
#include "node-agent/unwind/unwind_slabs.h"

struct file_tables;
struct unwind_cache;

struct file_tables_config {
	const struct unwind_memory *memory; /* borrowed, as the next two */
	struct unwind_slabs *slabs;
	struct unwind_cache *cache;     /* of those with a build id; NULL: none; borrowed */
	struct deadline_caller *caller; /* for files whose file system may not answer */
	uint64_t max_table_bytes;
	uint64_t open_functions; /* as in struct table_builder */
	/* Tables of such files are not shared with equal ones, so that no digest need be made. */
	bool is_alone;
	uint64_t grace_ns;
	/* Called periodically while a table is built; a result other than 0 cancels that. */
	int (*on_pause)(void *ctx);
	/* Returns a file with the code of this table, borrowed until the next call, or NULL. */
	struct mapped_file *(*find_file)(void *ctx, uint32_t table);
	/* Returns a process that has mapped code of this table, likewise, or NULL. */
	const struct process_snapshot *(*find_process)(void *ctx, uint32_t table);
	void *ctx;
	const char *proc_root; /* where debug files are searched; NULL: nowhere; borrowed */
};

struct file_tables_stats {
	uint64_t n_tables; /* built; so are the next two */
	uint64_t n_rows;
	uint64_t bytes;
	uint64_t n_waiting;  /* for room, or for their turn */
	uint64_t n_deferred; /* tables with code that is built once samples come to it */
	/* totals */
	uint64_t built;
	uint64_t built_parts; /* of such tables */
	uint64_t evicted;
	uint64_t dropped_bytes;   /* of cold parts */
	uint64_t postponed;       /* tables that waited because enough was built lately */
	uint64_t build_ns;        /* CPU time */
	uint64_t lost_budget;     /* tables that had no room */
	uint64_t lost_too_large;  /* tables above max_table_bytes */
	uint64_t lost_unreadable; /* files */
	uint64_t lost_indexes;    /* files without an index */
	uint64_t lost_segments;   /* files with code in too many of them: some are left out */
};

int file_tables_new(struct file_tables **ret, const struct file_tables_config *cfg) MUST_CHECK;
void file_tables_free(struct file_tables *t);
DEFINE_CLEANUP(struct file_tables *, file_tables_free);

/*
 * The table for a mapping: *ret_bias is the difference of its addresses to those in the file. owner
 * is who it is for (table_owners.h). Returns an index for struct unwind_mapping. The table stays as
 * long as it is referred to by file_tables_ref(), which must come before the next call with t.
 */
uint32_t file_tables_get(struct file_tables *t, const struct process_mapping *m, uint32_t owner,
			 uint64_t *ret_bias);

/* Count the mappings that refer to the table. Indexes without a table are allowed. */
void file_tables_ref(struct file_tables *t, uint32_t table);
void file_tables_unref(struct file_tables *t, uint32_t table);

/* Requests the table of the file `source` before any walk asks for it. */
void file_tables_want(struct file_tables *t, uint32_t table, struct mapped_file *source);

/* Of which samples file_tables_note_sample() is of use for any table. */
enum file_tables_wish {
	FILE_TABLES_NO_SAMPLES,
	FILE_TABLES_CUT_SAMPLES, /* those of whose stack something was guessed, or cut off */
	FILE_TABLES_ANY_SAMPLES, /* memory is short: they tell what is to stay */
};
enum file_tables_wish file_tables_wants_samples(const struct file_tables *t);

/* Finds tables that walks have asked for. */
void file_tables_find_wanted(struct file_tables *t);

/*
 * Builds the table whose turn it is. Returns false if there is none to build, or enough was built
 * lately for those that wait.
 */
bool file_tables_build_next(struct file_tables *t, uint64_t now_ns);

/*
 * The sample that began last came to this address of the table's file. What is missing there will
 * be built by file_tables_build_next().
 */
void file_tables_begin_sample(struct file_tables *t);
void file_tables_note_sample(struct file_tables *t, uint32_t table, uint64_t vaddr);

/* Retries tables that had no room. To be called about once a second. */
void file_tables_tick(struct file_tables *t, uint64_t now_ns);

void file_tables_read_stats(const struct file_tables *t, struct file_tables_stats *ret);

#endif /* NODE_AGENT_UNWIND_FILE_TABLES_H */
