/*
 * Which files are known to have the runtime or not, so that each is examined once, however
 * many processes execute or load it. Bounded: a full table is cleared, and files are examined
 * again. One thread.
 */
#ifndef NODE_AGENT_RUNTIME_FILE_VERDICTS_H
#define NODE_AGENT_RUNTIME_FILE_VERDICTS_H

#include "common/base.h"
#include "node-agent/procfs/file_id.h"

#define FILE_VERDICTS_MAX 8192u

struct file_verdicts;

/* max: how many files are known at once, 0: FILE_VERDICTS_MAX. Returns 0 or -ENOMEM. */
int file_verdicts_new(struct file_verdicts **ret, unsigned max) MUST_CHECK;
void file_verdicts_free(struct file_verdicts *v);
DEFINE_CLEANUP(struct file_verdicts *, file_verdicts_free);

/* Returns 1 if the file has it, 0 if not, or -ENOENT if that is not known. */
int file_verdicts_find(const struct file_verdicts *v, const struct file_id *file) MUST_CHECK;

/* The file must not be known yet. Returns 0 or -ENOMEM. */
int file_verdicts_add(struct file_verdicts *v, const struct file_id *file,
		      bool has_runtime) MUST_CHECK;

#endif /* NODE_AGENT_RUNTIME_FILE_VERDICTS_H */
