/*
 * The files that processes have mapped: each is opened once, whoever maps it,
 * and as few as the limit says.
 *
 * Loop thread only; files travel with snapshots. The registry has a reference
 * of its own, so a file is closed only in a sweep, once nobody else has it.
 */
#ifndef NODE_AGENT_PROCESS_FILE_REGISTRY_H
#define NODE_AGENT_PROCESS_FILE_REGISTRY_H

#include "common/base.h"
#include "node-agent/process/mapped_file.h"
#include "node-agent/process/proc_maps.h"

struct file_registry;

struct file_registry_stats {
	uint64_t n_files;
	uint64_t n_open;
	uint64_t unopened;   /* total */
	uint64_t over_limit; /* total */
	uint64_t hung;       /* total: file systems that did not answer */
};

int file_registry_new(struct file_registry **ret, size_t max_open) MUST_CHECK;
void file_registry_free(struct file_registry *r);
DEFINE_CLEANUP(struct file_registry *, file_registry_free);

/*
 * The file behind a mapping of the process whose /proc folder is proc_fd. 0
 * and a reference, or *ret NULL when it is no regular file; -ENOMEM. A file
 * that cannot be opened has fd -1.
 */
int file_registry_get(struct file_registry *r, int proc_fd, const struct proc_map *m,
		      struct mapped_file **ret) MUST_CHECK;

/* Closes and forgets what nobody else refers to. */
void file_registry_sweep(struct file_registry *r);

void file_registry_read_stats(const struct file_registry *r, struct file_registry_stats *ret);

#endif /* NODE_AGENT_PROCESS_FILE_REGISTRY_H */
