/*
 * Tables on disk, so that a restart does not parse every file again: one file per table
 * (node-agent/unwind/cfi/table_file.h) in a directory of our own, of bounded size.
 *
 * The cache is a convenience: whatever fails in it costs no more than building the table. A damaged
 * file is removed. Files are written under another name and then renamed, so that one that exists
 * is whole. Nobody else may write there: what tables say decides what walks read.
 *
 * Used by one thread.
 */
#ifndef NODE_AGENT_UNWIND_UNWIND_CACHE_H
#define NODE_AGENT_UNWIND_UNWIND_CACHE_H

#include "common/base.h"
#include "node-agent/unwind/cfi/cfi_table.h"
#include "node-agent/unwind/cfi/table_file.h"

/* Files above this number are removed, the least recently used first. */
#define UNWIND_CACHE_FILES_MAX 8192u

struct unwind_cache;

struct unwind_cache_stats {
	uint64_t n_files;
	uint64_t bytes;
	/* totals */
	uint64_t hits;
	uint64_t misses;
	uint64_t damaged;
	uint64_t evicted;
	uint64_t failed; /* writes */
};

/*
 * Creates the directory with mode 0700 if there is none; its parent must exist. Returns 0, -EPERM
 * if it is somebody else's or others may write there, -ENOMEM, or an error of open(2) and others.
 */
int unwind_cache_open(struct unwind_cache **ret, const char *path, uint64_t max_bytes) MUST_CHECK;
void unwind_cache_free(struct unwind_cache *c);
DEFINE_CLEANUP(struct unwind_cache *, unwind_cache_free);

/*
 * Like table_file_read(); -ENOENT if there is no file, or it was damaged. After another result than
 * 0, pages that on_page was called for are to be discarded.
 */
int unwind_cache_load(struct unwind_cache *c, const struct table_file_key *key,
		      struct cfi_table *ret, cfi_page_fn *on_page, void *ctx) MUST_CHECK;

/* Whether there may be a table whose key begins with this. */
bool unwind_cache_may_have(const struct unwind_cache *c, const uint64_t first[2]);

/* A file that is being written. */
struct unwind_cache_file;

/*
 * Begins a file. Add all pages, then finish; or free it, which gives it up. Returns 0, -ENOMEM, or
 * an error of open(2).
 */
int unwind_cache_begin(struct unwind_cache *c, struct unwind_cache_file **ret) MUST_CHECK;
/* An error is kept, and makes unwind_cache_finish() give the file up. NULL is allowed. */
void unwind_cache_page(struct unwind_cache_file *f, const struct unwind_row *rows, uint32_t n);
/* Frees f. NULL is allowed. */
void unwind_cache_finish(struct unwind_cache_file *f, const struct table_file_key *key,
			 const struct cfi_table *table);
void unwind_cache_file_free(struct unwind_cache_file *f);
DEFINE_CLEANUP(struct unwind_cache_file *, unwind_cache_file_free);

void unwind_cache_read_stats(const struct unwind_cache *c, struct unwind_cache_stats *ret);

#endif /* NODE_AGENT_UNWIND_UNWIND_CACHE_H */
