/*
 * Which files have a Go runtime, as far as that was found out: executables and libraries by what
 * identifies their content. Bounded: a full table is forgotten as a whole. One thread.
 */
#ifndef NODE_AGENT_GO_PROFILE_GO_VERDICTS_H
#define NODE_AGENT_GO_PROFILE_GO_VERDICTS_H

#include "common/base.h"
#include "node-agent/go/target/go_target.h"

#define GO_VERDICTS_MAX 8192u

struct go_verdicts;

int go_verdicts_new(struct go_verdicts **ret) MUST_CHECK;
void go_verdicts_free(struct go_verdicts *v);
DEFINE_CLEANUP(struct go_verdicts *, go_verdicts_free);

/* 1, 0, or -ENOENT: not known. */
int go_verdicts_find(const struct go_verdicts *v, const struct file_id *key) MUST_CHECK;

/* One that is not known. -ENOMEM. */
int go_verdicts_add(struct go_verdicts *v, const struct file_id *key, bool is_go) MUST_CHECK;

#endif /* NODE_AGENT_GO_PROFILE_GO_VERDICTS_H */
