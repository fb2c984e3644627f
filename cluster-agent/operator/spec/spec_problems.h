/*
 * What is wrong with a Coroot resource, for its status: each with the path of the field,
 * "spec.clickhouse.shards", and one sentence a person can act on. Pure.
 */
#ifndef CLUSTER_AGENT_OPERATOR_SPEC_SPEC_PROBLEMS_H
#define CLUSTER_AGENT_OPERATOR_SPEC_SPEC_PROBLEMS_H

#include "common/base.h"

#define SPEC_PROBLEMS_MAX 64 /* of each list; what is beyond is counted only */

struct spec_problem {
	char *path;
	char *text; /* may be NULL in unused */
};

struct spec_problem_list {
	struct spec_problem at[SPEC_PROBLEMS_MAX];
	size_t n;      /* in at */
	size_t n_more; /* beyond */
};

/* Zeroed before its first use. */
struct spec_problems {
	struct spec_problem_list wrong;  /* the field counts as not given */
	struct spec_problem_list unused; /* accepted, and of no effect here */
};

/*
 * Texts are copied, control characters replaced, cut at 256 bytes. Return 0 or -ENOMEM. why: a
 * clause about a field without effect, or NULL.
 */
int spec_problems_wrong(struct spec_problems *p, const char *path, const char *fmt, ...)
	PRINTF_LIKE(3, 4) MUST_CHECK;
int spec_problems_unused(struct spec_problems *p, const char *path, const char *why) MUST_CHECK;
void spec_problems_fini(struct spec_problems *p);

#endif /* CLUSTER_AGENT_OPERATOR_SPEC_SPEC_PROBLEMS_H */
