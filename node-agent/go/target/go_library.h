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
 * Keys of the files; without exe. Their number, max at most: there may be more then. -EFBIG: too many mappings; -ESRCH: the
 * process has ended; -EACCES …: its mappings may not be seen; -ENOMEM.
 */
int go_library_list(int proc_fd, const struct go_file_key *exe, struct deadline_caller *caller,
		    struct go_file_key *keys, size_t max) MUST_CHECK;

/*
 * Opens the one of this key. -ESRCH: it is not mapped (any more), or the process has ended; -ETIMEDOUT, -EBUSY: its file
 * system does not answer; others as above and of open(2).
 */
int go_library_open(int proc_fd, const struct go_file_key *key, struct deadline_caller *caller,
		    struct go_library *ret) MUST_CHECK;

#endif /* NODE_AGENT_GO_TARGET_GO_LIBRARY_H */
