/*
 * What the parts of file_tables.h share: file_tables.c, tables as wholes, file_table_parts.c, which
 * builds them in parts, and file_table_room.c, which evicts them.
 */
#ifndef NODE_AGENT_UNWIND_FILE_TABLES_STATE_H
#define NODE_AGENT_UNWIND_FILE_TABLES_STATE_H

#include "common/data/table.h"
#include "node-agent/unwind/code_files.h"
#include "node-agent/unwind/file_tables.h"
#include "node-agent/unwind/hot_code.h"
#include "node-agent/unwind/table_builder.h"
#include "node-agent/unwind/table_owners.h"

#define FILE_TABLES_RETRY_NS \
	(60 * NS_PER_S) /* after a failure; of a whole table, longer each time */

#define FILE_TABLES_SAMPLE (UINT64_C(1) << 16) /* the unit of use, of one sample */

enum table_state {
	TABLE_UNWANTED, /* no walk has come to its code yet */
	TABLE_PENDING,  /* in the list */
	TABLE_BUILT,
	TABLE_WAITING,   /* for retry_ns */
	TABLE_IMPOSSIBLE /* its code is unwound by frame pointers */
};

struct table {
	UT_hash_handle hh; /* by key */
	UT_hash_handle by_content;
	struct table_key key;
	struct table_key content; /* of a file that had its digest late: its key from then on */
	bool has_content;
	uint32_t index;
	enum table_state state;
	uint64_t n_refs;
	uint32_t owner;        /* who it was made for first */
	uint32_t n_samples;    /* that came by it since the last tick */
	uint64_t last_sample;  /* of those, as in struct file_tables */
	uint64_t last_used;    /* what unwind_used said at the last tick */
	uint64_t use;          /* see file_table_room.c; in parts of a sample */
	uint64_t needed_bytes; /* of room that it waits for; 0: it waits for something else */
	bool vdso;
	bool has_more;                   /* counted in n_deferred */
	bool has_cold;                   /* parts, perhaps */
	bool was_read;                   /* all of its file, since it was built */
	bool postponed;                  /* counted as such */
	struct mapped_file *source;      /* a reference, while it is pending; NULL: the vDSO */
	struct mapped_file *filled_from; /* likewise, while parts of its file are yet to be read */
	struct table *next;              /* in the list of pending ones */
	uint64_t retry_ns;       /* of a table that is built: when parts of it may be again */
	uint64_t retry_delay_ns; /* after the next failure */
	uint64_t born;           /* as in unwind_used */
	struct built_table built;
	struct hot_code *hot_before; /* owned; of a table that was evicted; NULL: nothing */
};

struct file_tables {
	struct file_tables_config cfg;
	struct table *tables;
	struct table *settled; /* those with the key of their content, by that */
	struct code_files *files;
	struct table *first_pending, **end_pending;
	struct table *by_index[UNWIND_TABLES];
	uint64_t index_free_ns[UNWIND_TABLES]; /* when the grace period of its last use ends */
	uint32_t next_index;
	struct table_owners owners;
	uint64_t n_samples; /* total */
	uint64_t cool_ns;   /* when parts cool next */
	bool has_cold;      /* any of the tables */
	struct file_tables_stats stats;
};

static inline const struct table_key *file_tables_key(const struct table *e)
{
	return e->has_content ? &e->content : &e->key;
}

static inline struct table_file_key file_tables_file_key(const struct table *e)
{
	struct table_file_key key;

	_Static_assert(sizeof(key) == sizeof(*file_tables_key(e)), "the same words");
	memcpy(&key, file_tables_key(e), sizeof(key));
	return key;
}

/* Whether a walk has come to its file. */
static inline bool file_tables_is_wanted(const struct file_tables *t, const struct table *e)
{
	return __atomic_load_n(&t->cfg.memory->used[e->index], __ATOMIC_RELAXED) != 0;
}

/* When walks last used the table, or asked for it. */
uint64_t file_tables_last_used(const struct file_tables *t, const struct table *e);

/* Once a second: how much the tables are used, and what need not be there. */
void file_tables_count_use(struct file_tables *t, uint64_t now_ns);

/*
 * How much room there is in so many sixteenths of the budget: memory is short if more than most are
 * used; of the last one, nothing is used for what nobody asked for.
 */
#define FILE_TABLES_MOST 12u
#define FILE_TABLES_ASKED 15u
#define FILE_TABLES_ALL 16u
uint64_t file_tables_room(const struct file_tables *t, unsigned part);

/*
 * Frees that many bytes for a table: cold parts, and then others that are used less. Returns how
 * many bytes were freed, of which walks may read until the grace period ends.
 */
uint64_t file_tables_make_room(struct file_tables *t, const struct table *wanted, uint64_t bytes,
			       uint64_t now_ns);

/* Evicts a table that is built, and frees it if there are no processes that have it mapped. */
void file_tables_evict(struct file_tables *t, struct table *e, uint64_t now_ns);

/* The file of a table that some process has mapped, or NULL. */
struct mapped_file *file_tables_source(const struct file_tables *t, const struct table *e);
void file_tables_drop_source(struct table *e);

/* Builds the table from its source, or if there is a part, only that, and charges its owner. */
int file_tables_build(struct file_tables *t, struct table *e, const struct hot_part *part);

/* Counts whether parts of the table are yet to be built. */
void file_tables_note_more(struct file_tables *t, struct table *e);
/* Likewise, and what is new of it: it had that many bytes and rows before. */
void file_tables_count_parts(struct file_tables *t, struct table *e, uint64_t bytes,
			     uint64_t n_rows);

/* What was dropped of a program that had ended is read again, from this file. */
void file_tables_fill(struct file_tables *t, struct table *e, struct mapped_file *source);

/* Builds the next part of a table, of all. Returns false if there is none that may be built. */
bool file_tables_build_part(struct file_tables *t, uint64_t now_ns);

/* Of struct code_files_config. */
bool file_tables_knows_build(void *ctx, const uint64_t id[2]);

#endif /* NODE_AGENT_UNWIND_FILE_TABLES_STATE_H */
