/*
 * Opens Go processes, one at a time, and caches what was learned about their executables. For
 * one thread.
 */
#ifndef NODE_AGENT_GO_IMAGE_GO_READER_H
#define NODE_AGENT_GO_IMAGE_GO_READER_H

#include "common/base.h"
#include "node-agent/go/image/go_runtime.h"

struct go_reader;

/* proc_root may be NULL for "/proc". Returns 0, -ENOMEM, or the error of opening it. */
int go_reader_new(struct go_reader **ret, const char *proc_root) MUST_CHECK;
void go_reader_free(struct go_reader *r);
DEFINE_CLEANUP(struct go_reader *, go_reader_free);

/* The descriptor of proc_root; borrowed. */
int go_reader_root(const struct go_reader *r);

/* As program_id_read(). */
int go_reader_identify(const struct go_reader *r, pid_t pid, struct program_id *ret) MUST_CHECK;

/*
 * Returns 1 if the library of id, or if it has none its executable, was built by Go, 0 if
 * not, or an error of program_target_open_file().
 */
int go_reader_detect(struct go_reader *r, const struct program_id *id) MUST_CHECK;

/*
 * Ids of the files other than its executable that the process has mapped executable.
 * id->library is ignored. Returns what loaded_library_list() does.
 */
int go_reader_libraries(struct go_reader *r, const struct program_id *id, struct file_id *ids,
			size_t max) MUST_CHECK;

#define GO_READER_LIBRARIES_MAX 1024u

/*
 * Identifies the process that has this pid, and its Go runtime: the executable, or else the
 * first library built by Go. Returns 0, -ENOEXEC if neither is among the first
 * GO_READER_LIBRARIES_MAX files, or an error of the three functions above.
 */
int go_reader_find(struct go_reader *r, pid_t pid, struct program_id *ret) MUST_CHECK;

/* An open process. */
struct go_opened {
	struct program_target target;
	struct go_runtime *runtime;
};

/*
 * Opens a process; close it with go_opened_close() before the next is opened. Returns 0,
 * -EBADMSG if pointers in it lead to unmapped memory, or an error of program_target_open() or
 * go_runtime_open().
 */
int go_reader_open(struct go_reader *r, const struct program_id *id,
		   struct go_opened **ret) MUST_CHECK;
void go_opened_close(struct go_opened *o);
DEFINE_CLEANUP(struct go_opened *, go_opened_close);

/* What the errors of reading a Go process mean, for messages of commands. Pure. */

/* A static text; that of strerror(3) if there is no better one. */
const char *go_reader_error(int error);

#endif /* NODE_AGENT_GO_IMAGE_GO_READER_H */
