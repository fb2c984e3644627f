/* Requests about the objects that the operator writes, and about Coroot resources. Loop thread. */
#ifndef CLUSTER_AGENT_OPERATOR_OBJECTS_OBJECT_REQUESTS_H
#define CLUSTER_AGENT_OPERATOR_OBJECTS_OBJECT_REQUESTS_H

#include <jansson.h>

#include "cluster-agent/operator/render/object_kinds.h"
#include "common/base.h"
#include "common/kubernetes/kube_client.h"

#define OBJECT_FIELD_MANAGER "coroot-operator"

struct object_ref {
	enum object_kind kind;
	const char *namespace; /* NULL if cluster-scoped */
	const char *name;
};

/* Where the answer goes; call may be NULL. */
struct object_reply {
	kube_done_fn done;
	void *ctx;
	struct kube_call **call;
};

/* All return what kube_client_send() does, or -EINVAL if a name cannot be part of a path. */
int object_request_get(struct kube_client *c, const struct object_ref *o,
		       const struct object_reply *reply) MUST_CHECK;
/* Server-side apply. */
int object_request_apply(struct kube_client *c, const struct object_ref *o, const json_t *body,
			 const struct object_reply *reply) MUST_CHECK;
int object_request_create(struct kube_client *c, const struct object_ref *o, const json_t *body,
			  const struct object_reply *reply) MUST_CHECK;
/* JSON merge patch. */
int object_request_merge(struct kube_client *c, const struct object_ref *o, const json_t *body,
			 const struct object_reply *reply) MUST_CHECK;
/* Only if its uid is this. orphan: what it owns stays. */
int object_request_delete(struct kube_client *c, const struct object_ref *o, const char *uid,
			  bool orphan, const struct object_reply *reply) MUST_CHECK;
/* The objects of a kind and namespace (name is NULL) that belong to the resource with this uid. */
int object_request_list_owned(struct kube_client *c, const struct object_ref *collection,
			      const char *uid, const struct object_reply *reply) MUST_CHECK;

int object_request_namespace(struct kube_client *c, const char *name,
			     const struct object_reply *reply) MUST_CHECK;

/* A page of the pods that have all of these labels. */
struct object_pods {
	const char *namespace;
	const json_t *labels; /* {name: value}; not empty */
	const char *more;     /* "continue" of the page before; NULL: the first page */
};

int object_request_pods(struct kube_client *c, const struct object_pods *pods,
			const struct object_reply *reply) MUST_CHECK;
/* Events of a namespace that say why objects of that kind ("DaemonSet") cannot create pods. */
int object_request_failed_creates(struct kube_client *c, const char *namespace, const char *kind,
				  const struct object_reply *reply) MUST_CHECK;

/* Server-side apply of an Event. */
int object_request_event(struct kube_client *c, const json_t *event,
			 const struct object_reply *reply) MUST_CHECK;

/* A Coroot resource, or its status. */
struct coroot_ref {
	const char *namespace;
	const char *name;
	bool status;
};

int coroot_request_get(struct kube_client *c, const char *namespace, const char *name,
		       const struct object_reply *reply) MUST_CHECK;
int coroot_request_merge(struct kube_client *c, const struct coroot_ref *o, const json_t *body,
			 const struct object_reply *reply) MUST_CHECK;

#endif /* CLUSTER_AGENT_OPERATOR_OBJECTS_OBJECT_REQUESTS_H */
