/*
 * The libraries of a process: files that it has mapped executable, except the one that it
 * executes. One of them may contain a language runtime (Go's -buildmode=c-shared, a JVM) that
 * another program has loaded.
 *
 * A file is known by its identity, as an executable is; where it is mapped is looked up each
 * time, because libraries come and go. Paths are not used: the process chooses them. Only
 * executable mappings of regular files count. Calls that could wait for a file system have the
 * caller's deadline. One thread.
 */
#ifndef NODE_AGENT_FILES_LOADED_LIBRARY_H
#define NODE_AGENT_FILES_LOADED_LIBRARY_H

#include "common/base.h"
#include "common/thread/deadline_call.h"
#include "node-agent/procfs/file_id.h"

#define LOADED_LIBRARY_MAPS_MAX_BYTES ((size_t)16 * 1024 * 1024) /* some 170,000 mappings */

struct loaded_library {
	int fd; /* the caller's */
	uint64_t size_bytes;
	bool may_hang;
	uint64_t start; /* of an executable mapping of it, which has the file from this offset on */
	uint64_t file_offset;
};

/*
 * Lists the files that the process has mapped executable, except exe. Returns their number, at most
 * max (there may be more then), -EFBIG if there are too many mappings, -ESRCH if the process has
 * exited, -ENOMEM, or -EACCES or another -errno if its mappings cannot be read.
 */
int loaded_library_list(int proc_fd, const struct file_id *exe, struct deadline_caller *caller,
			struct file_id *ids, size_t max) MUST_CHECK;

/*
 * Opens the mapped file of this id. Returns 0, -ESRCH if it is not mapped or the process has
 * exited, -ETIMEDOUT or -EBUSY if its file system does not answer, or an error as above or of
 * open(2).
 */
int loaded_library_open(int proc_fd, const struct file_id *id, struct deadline_caller *caller,
			struct loaded_library *ret) MUST_CHECK;

#endif /* NODE_AGENT_FILES_LOADED_LIBRARY_H */
