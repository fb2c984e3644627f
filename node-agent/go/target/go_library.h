/*
 * The files that a process has mapped executable besides its own executable: one of them may have a Go
 * runtime (-buildmode=c-shared), which another program has loaded.
 *
 * A file is known by its content's key, as an executable is; where it is mapped is looked up anew each
 * time, as libraries come and go. Names are the process's business and say nothing. Only executable
 * mappings of regular files count. What could wait for a file system has the caller's deadline. One thread.
 */
#ifndef NODE_AGENT_GO_TARGET_GO_LIBRARY_H
#define NODE_AGENT_GO_TARGET_GO_LIBRARY_H

#include "common/base.h"
#include "node-agent/go/target/go_target.h"

#define GO_LIBRARY_MAPS_MAX_BYTES ((size_t)16 * 1024 * 1024) /* some 170,000 mappings */

struct go_library {
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
int go_library_list(int proc_fd, const struct file_id *exe, struct deadline_caller *caller,
		    struct file_id *ids, size_t max) MUST_CHECK;

/*
 * Opens the mapped file of this id. Returns 0, -ESRCH if it is not mapped or the process has exited,
 * -ETIMEDOUT or -EBUSY if its file system does not answer, or an error as above or of open(2).
 */
int go_library_open(int proc_fd, const struct file_id *id, struct deadline_caller *caller,
		    struct go_library *ret) MUST_CHECK;

#endif /* NODE_AGENT_GO_TARGET_GO_LIBRARY_H */
