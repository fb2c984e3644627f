/* The operator as a whole: from its options to the exit. */
#ifndef CLUSTER_AGENT_OPERATOR_OPERATOR_H
#define CLUSTER_AGENT_OPERATOR_OPERATOR_H

#include "cluster-agent/operator/operator_options.h"
#include "common/base.h"
#include "common/err.h"

struct operator_agent;

/* opts is borrowed. Returns 0, or -errno with one line in err. */
int operator_new(struct operator_agent **ret, const struct operator_options *opts,
		 struct err *err) MUST_CHECK;
/* Works until SIGTERM or SIGINT. Returns 0 or -errno. */
int operator_run(struct operator_agent *o) MUST_CHECK;
void operator_free(struct operator_agent *o);
DEFINE_CLEANUP(struct operator_agent *, operator_free);

#endif /* CLUSTER_AGENT_OPERATOR_OPERATOR_H */
