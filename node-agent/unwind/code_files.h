/*
 * The files with code that processes have mapped: which table is theirs, and where their code is
 * mapped from. A cache, by identity, of limited size; the least recently used is dropped.
 *
 * A file whose table has an index can be shown to walks, which then find it by its inode, in
 * processes whose mappings are not reported (bpf/unwind_table.h: unwind_files).
 *
 * One thread uses it.
 */
#ifndef NODE_AGENT_UNWIND_CODE_FILES_H
#define NODE_AGENT_UNWIND_CODE_FILES_H

#include "common/base.h"
#include "common/thread/deadline_call.h"
#include "node-agent/elf/elf_layout.h"
#include "node-agent/process/process_snapshot.h"
#include "node-agent/unwind/unwind_memory.h"

struct code_files;

#define CODE_FILE_SEGMENTS_MAX 4u /* linkers make one or two */

/*
 * What a table is of: the key of tables. A build id alone is what anybody can write into a file,
 * so a digest of what the table is made from is part of it.
 */
struct table_key {
	uint64_t id
		[2]; /* XXH3-128 of the build id; of a file that shares nothing, device and inode */
	uint64_t sum
		[4]; /* SHA-256; likewise, UINT64_MAX, size, time of modification and of change */
};

struct code_file;

struct code_files_config {
	const struct unwind_memory *memory; /* borrowed */
	struct deadline_caller *caller;     /* for files whose file system may not answer */
};

struct code_files_stats {
	uint64_t unreadable; /* total: files that could not be examined */
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
 * Whether the file still is what its key says. Files whose key is of no build always are, as nobody
 * else has their table; and the vDSO, for which m is NULL.
 */
bool code_files_is_current(struct code_files *c, const struct mapped_file *m,
			   const struct table_key *key);

/* Shows the file of the mapping to walks, with the index of its table. */
void code_files_show(struct code_files *c, struct code_file *f, const struct process_mapping *m,
		     uint32_t table);
/* The index is no longer that of their table: hides all files that were shown with it. */
void code_files_hide(struct code_files *c, uint32_t table);

/* Reads the file; m is NULL for the vDSO. */
void code_files_open(const struct code_files *c, const struct mapped_file *m,
		     struct byte_source *ret);

void code_files_read_stats(const struct code_files *c, struct code_files_stats *ret);

#endif /* NODE_AGENT_UNWIND_CODE_FILES_H */
