/*
 * A file that processes have mapped executable, held open so that its symbols can be read
 * after the processes have exited or the file was replaced.
 *
 * Immutable except for the reference count and has_interpreter, which any thread may change.
 * Others may truncate or change the file at any time: read it with pread(2) and trust nothing,
 * never map it.
 */
#ifndef NODE_AGENT_FILES_MAPPED_FILE_H
#define NODE_AGENT_FILES_MAPPED_FILE_H

#include <stdatomic.h>

#include "common/base.h"
#include "node-agent/procfs/file_id.h"

struct mapped_file {
	atomic_uint refs;
	int fd;        /* regular file, read-only; -1 if it could not be opened */
	bool may_hang; /* reading may wait for another machine or program indefinitely */
	bool layered;  /* of overlayfs, which may hang as the file system of a layer does */
	atomic_bool has_interpreter; /* known to have one whose frames are shown by name */
	struct file_id id;
	char path[]; /* in the mount namespace of the process; for names only */
};

/* The caller owns one reference. Takes over fd on success. -ENOMEM is the only failure. */
int mapped_file_new(struct mapped_file **ret, const struct file_id *id, int fd, const char *path,
		    size_t path_len) MUST_CHECK;

/* Returns f. */
struct mapped_file *mapped_file_ref(struct mapped_file *f);

/* Closes and frees f with its last reference. NULL is allowed. */
void mapped_file_unref(struct mapped_file *f);
DEFINE_CLEANUP(struct mapped_file *, mapped_file_unref);

#endif /* NODE_AGENT_FILES_MAPPED_FILE_H */
