/*
 * What a reader asks about: service, type, range and instance.
 *
 * An instance is a container of a service: its container.id for types that the node-agent makes,
 * "namespace/pod" for the others. "id@host" names it where the same id exists on several hosts, as
 * systemd units do.
 *
 * A reader who has chosen an instance of one type keeps it when he looks at another, so each of
 * the two forms also selects profiles of the other: "/k8s/<namespace>/<pod>/<container>" those
 * of the pod, and "<namespace>/<pod>" those of all its containers.
 */
#ifndef CLUSTER_AGENT_QUERY_QUERY_FILTER_H
#define CLUSTER_AGENT_QUERY_QUERY_FILTER_H

#include "common/base.h"

struct store_ticket;

/* Strings are borrowed. Times in ns since the epoch; [from, to). */
struct query_filter {
	const char *service;
	const char *type;
	const char *instance; /* NULL or "": all */
	int64_t from_ns;
	int64_t to_ns;
	const struct store_ticket *ticket; /* by which queries are cancelled; may be NULL */
};

#endif /* CLUSTER_AGENT_QUERY_QUERY_FILTER_H */
