/*
 * "coroot-cluster-agent operator render FILE": prints what the operator would apply for a resource,
 * without a cluster.
 */
#ifndef CLUSTER_AGENT_OPERATOR_RENDER_COMMAND_H
#define CLUSTER_AGENT_OPERATOR_RENDER_COMMAND_H

#include "common/base.h"
#include "common/err.h"

/* Returns 0, or -errno with one line in err. */
int render_command(char **args, struct err *err) MUST_CHECK;

#endif /* CLUSTER_AGENT_OPERATOR_RENDER_COMMAND_H */
