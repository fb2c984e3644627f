/*
 * Names of functions as @pyroscope/nodejs writes them, "./app.js:leaf:4", without the file and the
 * line, which the function has as well. Pure; foreign data.
 */
#ifndef CLUSTER_AGENT_PUSH_NODE_NAMES_H
#define CLUSTER_AGENT_PUSH_NODE_NAMES_H

#include "common/base.h"
#include "common/pprof/profile.h"

/*
 * Replaces the name, by a copy in the arena, if it has that form. Returns 0, -EFBIG if the arena's
 * limit is exceeded, or -ENOMEM.
 */
int node_name_shorten(struct profile_function *f, struct arena *arena) MUST_CHECK;

#endif /* CLUSTER_AGENT_PUSH_NODE_NAMES_H */
