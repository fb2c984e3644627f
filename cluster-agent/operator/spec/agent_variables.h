/*
 * The environment variables of the options that an agent has, for what a Coroot resource gives as
 * "env". The agents do not know each other's code, so the build makes the lists of the pages about
 * their options (docs/options-*.md), which "make lint-docs" compares with the code. Pure.
 */
#ifndef CLUSTER_AGENT_OPERATOR_SPEC_AGENT_VARIABLES_H
#define CLUSTER_AGENT_OPERATOR_SPEC_AGENT_VARIABLES_H

#include <jansson.h>

#include "common/base.h"

struct agent_variables {
	const char *agent;        /* "node agent" */
	const char *const *names; /* NULL at the end */
};

extern const struct agent_variables node_agent_variables;
extern const struct agent_variables cluster_agent_variables;

/*
 * Whether a variable has an effect: on the agent or the libraries that it is made of, or as
 * "$(NAME)" in another one of the environment, an array of Kubernetes' EnvVar. *ret_meant, unless
 * it has, is the variable that was probably meant, or NULL.
 */
bool agent_variables_have(const struct agent_variables *v, const char *name, const json_t *env,
			  const char **ret_meant);

#endif /* CLUSTER_AGENT_OPERATOR_SPEC_AGENT_VARIABLES_H */
