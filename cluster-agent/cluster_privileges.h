/*
 * What the cluster-agent may do: no capabilities, no writing outside its data directory, and the
 * system calls of cluster_privileges.c.
 * docs/security.md describes both for operators.
 */
#ifndef CLUSTER_AGENT_CLUSTER_PRIVILEGES_H
#define CLUSTER_AGENT_CLUSTER_PRIVILEGES_H

#include "cluster-agent/cluster_options.h"
#include "common/err.h"

/* Gives up capabilities. Before any thread is started. Returns 0, or -errno with err. */
int cluster_privileges_drop(const struct cluster_options *o, struct err *err) MUST_CHECK;

/*
 * Where the kernel can do it, nothing can be written outside --data-dir from here on: the embedded
 * engine runs statements of users, and has functions that write files. Before the engine starts its
 * threads.
 */
void cluster_privileges_limit_writes(const struct cluster_options *o);

/*
 * Installs the filter of system calls for all threads; before anybody can connect. As
 * syscall_filter_install().
 */
int cluster_privileges_filter(const struct cluster_options *o, struct err *err) MUST_CHECK;

#endif /* CLUSTER_AGENT_CLUSTER_PRIVILEGES_H */
