/*
 * What the operator may do: no capabilities, and the system calls of an agent that only speaks
 * HTTP. It writes no files.
 */
#ifndef CLUSTER_AGENT_OPERATOR_OPERATOR_PRIVILEGES_H
#define CLUSTER_AGENT_OPERATOR_OPERATOR_PRIVILEGES_H

#include "cluster-agent/operator/operator_options.h"
#include "common/err.h"

/* Gives up capabilities. Before any thread is started. Returns 0, or -errno with err. */
int operator_privileges_drop(const struct operator_options *o, struct err *err) MUST_CHECK;

/* Installs the filter of system calls for all threads. As syscall_filter_install(). */
int operator_privileges_filter(const struct operator_options *o, struct err *err) MUST_CHECK;

#endif /* CLUSTER_AGENT_OPERATOR_OPERATOR_PRIVILEGES_H */
