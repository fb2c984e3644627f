/*
 * What the node-agent may do: the capabilities and system calls of node_privileges.c, each with
 * what it is for. docs/security.md describes them for operators.
 */
#ifndef NODE_AGENT_NODE_PRIVILEGES_H
#define NODE_AGENT_NODE_PRIVILEGES_H

#include "common/err.h"
#include "node-agent/node_options.h"

/*
 * Gives up what the agent never needs, and warns in one line of what it lacks. Before any thread is
 * started. Returns 0, or -errno with err.
 */
int node_privileges_drop(const struct node_options *o, struct err *err) MUST_CHECK;

/*
 * Gives up what only entering the host's namespaces needs. Before any thread is started, too.
 * Returns 0, or -errno with err.
 */
int node_privileges_drop_start(struct err *err) MUST_CHECK;

/* Installs the filter of system calls for all threads, once everything runs but the listener. */
int node_privileges_filter(const struct node_options *o, struct err *err) MUST_CHECK;

#endif /* NODE_AGENT_NODE_PRIVILEGES_H */
