/*
 * "coroot-cluster-agent operator": keeps what Coroot resources (coroot.com/v1) ask for applied in a
 * Kubernetes cluster.
 */
#ifndef CLUSTER_AGENT_OPERATOR_OPERATOR_COMMAND_H
#define CLUSTER_AGENT_OPERATOR_OPERATOR_COMMAND_H

#include "common/agent/agent_main.h"

extern const struct agent_program operator_program;
extern const struct agent_command operator_command;

#endif /* CLUSTER_AGENT_OPERATOR_OPERATOR_COMMAND_H */
