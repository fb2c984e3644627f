/*
 * The files that processes have mapped: which have an interpreter, and which a C library. A cache
 * of limited size by file identity; a file is read once.
 *
 * Used by one thread.
 */
#ifndef NODE_AGENT_INTERPRETER_PROCESS_INTERPRETER_FILES_H
#define NODE_AGENT_INTERPRETER_PROCESS_INTERPRETER_FILES_H

#include "common/base.h"
#include "common/thread/deadline_call.h"
#include "node-agent/interpreter/interpreter_ops.h"
#include "node-agent/interpreter/libc_threads.h"
#include "node-agent/interpreter/process/process_memory.h"
#include "node-agent/process/process_snapshot.h"

struct interpreter_files;

/*
 * Both are borrowed. caller is for files whose file system may not answer; memory for what is known
 * of a file only when it has been loaded. NULL: that is not known. Returns 0 or -ENOMEM.
 */
int interpreter_files_new(struct interpreter_files **ret, struct deadline_caller *caller,
			  struct process_memory *memory) MUST_CHECK;
void interpreter_files_free(struct interpreter_files *f);
DEFINE_CLEANUP(struct interpreter_files *, interpreter_files_free);

/* From now on, layouts have the tasks of CPython's asyncio (struct chain_tasks). */
void interpreter_files_add_tasks(struct interpreter_files *f);

/* What a process has of an interpreter. Borrowed from the cache until its next call. */
struct interpreter_process {
	const struct interpreter_image *image;
	uint64_t bias; /* to be added to addresses of the image */
	const struct mapped_file *file;
};

/*
 * Returns 0 if the process has an interpreter; -ENOENT if it has none; -ENOTSUP if it has one whose
 * release is not known; -EAGAIN if it has just been started; or why its files or memory cannot be
 * read.
 */
int interpreter_files_find(struct interpreter_files *f, const struct process_snapshot *s,
			   struct interpreter_process *ret) MUST_CHECK;

/*
 * How frames of the process are found. Results as above, or -EAGAIN if it has not mapped its C
 * library yet, or one is not known. With -ENOTSUP, only the language is set, and a line of the log
 * has said once which file it is.
 */
int interpreter_files_layout(struct interpreter_files *f, const struct process_snapshot *s,
			     struct chain_layout *ret) MUST_CHECK;

/*
 * The file of a process whose interpreter is of a release that is not known, as far as its files
 * have been looked at; NULL: there is none, or one that is known as well. Any thread.
 */
const struct mapped_file *interpreter_files_unknown(const struct process_snapshot *s);

const struct interpreter_ops *interpreter_ops_of(enum interpreter_language language);

#endif /* NODE_AGENT_INTERPRETER_PROCESS_INTERPRETER_FILES_H */
