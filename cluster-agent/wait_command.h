/* "coroot-cluster-agent wait-for URL...": what "helm test" runs in an image without a shell. */
#ifndef CLUSTER_AGENT_WAIT_COMMAND_H
#define CLUSTER_AGENT_WAIT_COMMAND_H

#include "common/agent/agent_main.h"

extern const struct agent_command wait_command;

#endif /* CLUSTER_AGENT_WAIT_COMMAND_H */
