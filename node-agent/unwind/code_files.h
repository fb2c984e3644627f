/*
 * The executables and libraries that processes have mapped: the key of the unwind table of each,
 * and its segments with code. A cache of limited size, by file identity, with LRU eviction.
 *
 * A file whose table has an index can be shown to walks, which then find it by its inode, in
 * processes whose mappings are not reported (bpf/unwind_table.h: unwind_files).
 *
 * Not thread-safe.
 */
#ifndef NODE_AGENT_UNWIND_CODE_FILES_H
#define NODE_AGENT_UNWIND_CODE_FILES_H

#include "common/base.h"
#include "common/elf/elf_layout.h"
#include "common/thread/deadline_call.h"
#include "node-agent/process/process_snapshot.h"
#include "node-agent/unwind/unwind_memory.h"

struct code_files;

/*
 * Identifies the content of a table, so that equal files share one. A build id alone is not enough:
 * anybody can write any build id into a file. So the key also has a digest of the unwind data.
 */
struct table_key {
	uint64_t id[2];  /* XXH3-128 of the build id; device and inode of a file without one */
	uint64_t sum[4]; /* SHA-256; of such a file, UINT64_MAX, size, mtime and ctime */
};

struct code_file;

struct code_files_config {
	const struct unwind_memory *memory; /* borrowed */
	struct deadline_caller *caller;     /* for files whose file system may not answer */
	/*
	 * Files with as many functions have their digest late, by code_files_settle(): making it
	 * takes as long as half of their table. 0: none.
	 */
	uint64_t late_functions;
	/* Of these: whether there may be a table with this id already. NULL: no. */
	bool (*knows_build)(void *ctx, const uint64_t id[2]);
	void *ctx;
};

struct code_files_stats {
	/* totals */
	uint64_t unreadable; /* files that could not be examined */
	uint64_t cut;        /* files with code in more segments than are known */
};

/* Returns 0, -ENOMEM, or another -errno if the vDSO cannot be read. */
int code_files_new(struct code_files **ret, const struct code_files_config *cfg) MUST_CHECK;
void code_files_free(struct code_files *c);
DEFINE_CLEANUP(struct code_files *, code_files_free);

/*
 * The file of a mapping, borrowed until the next call; NULL if it has no code or cannot be read.
 * *ret_bias is the difference of the mapping's addresses to those in the file.
 */
struct code_file *code_files_get(struct code_files *c, const struct process_mapping *m,
				 uint64_t *ret_bias);

const struct table_key *code_file_key(const struct code_file *f);
/* Whether the key is of a build, so that other files may have the same, also after a restart. */
bool table_key_is_of_build(const struct table_key *key);
/*
 * Whether the content of the file still matches its key. Always true for files whose key is not of
 * a build, because their table is not shared, and for the vDSO, for which m is NULL.
 */
bool code_files_is_current(struct code_files *c, const struct mapped_file *m,
			   const struct table_key *key);

/*
 * Makes the key of a file that has its digest late. Returns 0 with it, which code_file_key() is
 * from now on; -ENOENT if the file has no such key, or has it already; or an error of reading.
 */
int code_files_settle(struct code_files *c, const struct mapped_file *m,
		      struct table_key *ret) MUST_CHECK;

/* Shows the file of the mapping to walks, with the index of its table. */
void code_files_show(struct code_files *c, struct code_file *f, const struct process_mapping *m,
		     uint32_t table);
/* Hides all files that were shown with this index, which is about to belong to another table. */
void code_files_hide(struct code_files *c, uint32_t table);

/* Reads the file; m is NULL for the vDSO. */
void code_files_open(const struct code_files *c, const struct mapped_file *m,
		     struct byte_source *ret);

void code_files_read_stats(const struct code_files *c, struct code_files_stats *ret);

#endif /* NODE_AGENT_UNWIND_CODE_FILES_H */
