/*
 * The files that processes have mapped. Each is opened once, no matter how many processes map
 * it, and there is a limit on open files.
 *
 * Loop thread only; the files travel with snapshots. The registry keeps a reference of its
 * own, so a file is closed only by a sweep, after everybody else has released it.
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
	uint64_t hung;       /* total: opens that a file system did not answer in time */
};

int file_registry_new(struct file_registry **ret, size_t max_open) MUST_CHECK;
void file_registry_free(struct file_registry *r);
DEFINE_CLEANUP(struct file_registry *, file_registry_free);

/*
 * The file behind a mapping of the process whose /proc folder is proc_fd. *ret is a reference,
 * or NULL if it is not a regular file; it has fd -1 if it cannot be opened. Returns 0 or
 * -ENOMEM.
 */
int file_registry_get(struct file_registry *r, int proc_fd, const struct proc_map *m,
		      struct mapped_file **ret) MUST_CHECK;

/* Drops the files that nobody else holds a reference to. */
void file_registry_sweep(struct file_registry *r);

void file_registry_read_stats(const struct file_registry *r, struct file_registry_stats *ret);

#endif /* NODE_AGENT_PROCESS_FILE_REGISTRY_H */
