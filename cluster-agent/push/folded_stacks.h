/*
 * Stacks as lines of text, "root;caller;leaf 42", as py-spy, rbspy, perf and flame graph tools
 * write them → struct profile. Pure; foreign data.
 *
 * Frames may say where they are: "leaf (file.py:12)" (py-spy), "leaf - file.rb:12" (rbspy),
 * "leaf (libfoo.so)", and "leaf_[k]" (perf) for the kernel. Empty lines are skipped, and what
 * py-spy says between them.
 */
#ifndef CLUSTER_AGENT_PUSH_FOLDED_STACKS_H
#define CLUSTER_AGENT_PUSH_FOLDED_STACKS_H

#include "common/base.h"
#include "common/data/arena.h"
#include "common/err.h"
#include "common/pprof/profile.h"

enum folded_form {
	FOLDED_VALUES, /* the last word of a line is its value */
	FOLDED_LINES,  /* a line is one sample */
};

/*
 * The result has one type, whose names are empty. Returns 0, -EBADMSG if a line has no value,
 * -EFBIG if a limit is exceeded (both with one line in err), or -ENOMEM.
 */
int folded_stacks_read(struct profile *ret, struct arena *arena, const char *text, size_t len,
		       enum folded_form form, struct err *err) MUST_CHECK;

#endif /* CLUSTER_AGENT_PUSH_FOLDED_STACKS_H */
