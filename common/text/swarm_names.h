/* Names of the containers of Docker Swarm, by their labels. Pure; the input is untrusted. */
#ifndef COMMON_TEXT_SWARM_NAMES_H
#define COMMON_TEXT_SWARM_NAMES_H

#include "common/base.h"

#define SWARM_LABEL_TASK "com.docker.swarm.task.name"
#define SWARM_LABEL_SERVICE "com.docker.swarm.service.name"
#define SWARM_LABEL_STACK "com.docker.stack.namespace"

/*
 * Makes /swarm/<stack>/<service>/<slot> of the values of those labels; NULL stands for one that is
 * missing. The path is that of coroot-node-agent (containers/registry.go). Returns whether it is
 * Swarm's and fits.
 */
bool swarm_name(char *ret, size_t size, const char *task, const char *service, const char *stack);

#endif /* COMMON_TEXT_SWARM_NAMES_H */
