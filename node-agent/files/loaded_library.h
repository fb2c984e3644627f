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

#include <stdatomic.h>

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

/*
 * A file that processes have mapped executable, held open so that its symbols can be read
 * after the processes have exited or the file was replaced.
 *
 * Immutable except for the reference count and what is known of its interpreter, which any thread
 * may change. Others may truncate or change the file at any time: read it with pread(2) and trust
 * nothing, never map it.
 */

struct mapped_file {
	atomic_uint refs;
	int fd;        /* regular file, read-only; -1 if it could not be opened */
	bool may_hang; /* reading may wait for another machine or program indefinitely */
	bool layered;  /* of overlayfs, which may hang as the file system of a layer does */
	atomic_bool has_interpreter;      /* known to have one whose frames are shown by name */
	atomic_uchar unknown_interpreter; /* has one of this language, of a release not known */
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

#endif /* NODE_AGENT_FILES_LOADED_LIBRARY_H */
