/*
 * A file that processes have mapped executable, held open so that its symbols
 * can be read after they are gone or the file is replaced.
 *
 * Immutable but for the count of references, which any thread may change.
 * The file is not ours and may be truncated meanwhile: read it with pread(2)
 * and expect anything, never map it.
 */
#ifndef NODE_AGENT_PROCESS_MAPPED_FILE_H
#define NODE_AGENT_PROCESS_MAPPED_FILE_H

#include <stdatomic.h>

#include "common/base.h"
#include "node-agent/process/file_id.h"

struct mapped_file {
	atomic_uint refs;
	int fd;        /* regular file, read-only; -1: could not be opened, or too many are */
	bool may_hang; /* reading may wait for another machine or program, for ever */
	struct file_id id;
	char path[]; /* in the mount namespace of the process; for names only */
};

/* One reference, the caller's. fd is taken on success. -ENOMEM is the only failure. */
int mapped_file_new(struct mapped_file **ret, const struct file_id *id, int fd, const char *path,
		    size_t path_len) MUST_CHECK;

/* Returns f. */
struct mapped_file *mapped_file_ref(struct mapped_file *f);

/* The last one closes it. NULL is allowed. */
void mapped_file_unref(struct mapped_file *f);
DEFINE_CLEANUP(struct mapped_file *, mapped_file_unref);

#endif /* NODE_AGENT_PROCESS_MAPPED_FILE_H */
