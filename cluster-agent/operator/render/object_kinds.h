/* The kinds of objects that the operator writes, in the order in which it applies them. */
#ifndef CLUSTER_AGENT_OPERATOR_RENDER_OBJECT_KINDS_H
#define CLUSTER_AGENT_OPERATOR_RENDER_OBJECT_KINDS_H

#include "common/base.h"
#include "common/data/buf.h"

enum object_kind {
	OBJECT_SERVICE_ACCOUNT,
	OBJECT_CLUSTER_ROLE,
	OBJECT_CLUSTER_ROLE_BINDING,
	OBJECT_SECRET,
	OBJECT_CONFIG_MAP,
	OBJECT_PERSISTENT_VOLUME_CLAIM,
	OBJECT_SERVICE,
	OBJECT_STATEFUL_SET,
	OBJECT_DEPLOYMENT,
	OBJECT_DAEMON_SET,
	OBJECT_POD_DISRUPTION_BUDGET,
	OBJECT_INGRESS,
	OBJECT_KIND_MAX,
};

struct object_kind_info {
	const char *api_version; /* "apps/v1", "v1" */
	const char *kind;        /* "DaemonSet" */
	const char *plural;      /* "daemonsets" */
	bool cluster_scoped;
	/* deleted when the resource no longer asks for it; else it stays with its owner */
	bool pruned;
};

extern const struct object_kind_info object_kinds[OBJECT_KIND_MAX];

/*
 * Appends the path of the kind's collection, or of one object if name is given:
 * "/apis/apps/v1/namespaces/x/daemonsets/y". namespace is NULL for all namespaces, and for
 * cluster-scoped kinds. Returns 0, -ENOMEM, -EFBIG beyond the limit of out, or -EINVAL if namespace
 * or name cannot be one.
 */
int object_kind_path(struct buf *out, enum object_kind kind, const char *namespace,
		     const char *name) MUST_CHECK;

#endif /* CLUSTER_AGENT_OPERATOR_RENDER_OBJECT_KINDS_H */
