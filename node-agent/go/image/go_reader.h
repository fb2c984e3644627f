/*
 * Opens Go processes, one at a time: what is known about executables is kept from one to the next. One thread.
 */
#ifndef NODE_AGENT_GO_IMAGE_GO_READER_H
#define NODE_AGENT_GO_IMAGE_GO_READER_H

#include "common/base.h"
#include "node-agent/go/image/go_runtime.h"

struct go_reader;

/* proc_root: NULL is "/proc". -ENOMEM; -errno when it cannot be opened. */
int go_reader_new(struct go_reader **ret, const char *proc_root) MUST_CHECK;
void go_reader_free(struct go_reader *r);
DEFINE_CLEANUP(struct go_reader *, go_reader_free);

/* Descriptor of proc_root, borrowed. */
int go_reader_root(const struct go_reader *r);

/* Who has this pid now. -ESRCH: nobody; -ENOENT: a kernel thread. */
int go_reader_identify(const struct go_reader *r, pid_t pid, struct program_id *ret) MUST_CHECK;

/* 1: the executable, or the library of id, is Go's; 0: it is not; -errno of go_target_open_file(). */
int go_reader_detect(struct go_reader *r, const struct program_id *id) MUST_CHECK;

/*
 * Keys of the other files that the process has mapped executable; id->library is not looked at. Results as of
 * loaded_library_list().
 */
int go_reader_libraries(struct go_reader *r, const struct program_id *id, struct file_id *ids,
			size_t max) MUST_CHECK;

#define GO_READER_LIBRARIES_MAX 1024u

/*
 * Who has this pid now, with the first of its libraries that is Go's, unless its executable is. -ENOEXEC: there is no Go
 * in it, or behind GO_READER_LIBRARIES_MAX files; results of the three above.
 */
int go_reader_find(struct go_reader *r, pid_t pid, struct program_id *ret) MUST_CHECK;

/* An open process. */
struct go_opened {
	struct go_target target;
	struct go_runtime *runtime;
};

/*
 * *ret is for go_opened_close(), before the next is opened. Errors of go_target_open() and go_runtime_open();
 * -EBADMSG: it points to where no process has memory.
 */
int go_reader_open(struct go_reader *r, const struct program_id *id,
		   struct go_opened **ret) MUST_CHECK;
void go_opened_close(struct go_opened *o);
DEFINE_CLEANUP(struct go_opened *, go_opened_close);

#endif /* NODE_AGENT_GO_IMAGE_GO_READER_H */
