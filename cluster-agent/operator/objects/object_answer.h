/* What the API server's answer to a request about an object means. Pure. */
#ifndef CLUSTER_AGENT_OPERATOR_OBJECTS_OBJECT_ANSWER_H
#define CLUSTER_AGENT_OPERATOR_OBJECTS_OBJECT_ANSWER_H

#include "common/base.h"
#include "common/kubernetes/kube_client.h"

enum object_answer {
	OBJECT_ANSWER_OK,
	OBJECT_ANSWER_NONE,      /* 404 */
	OBJECT_ANSWER_CONFLICT,  /* 409: it has changed or is being deleted; try again */
	OBJECT_ANSWER_IMMUTABLE, /* 422, and all that is wrong is a field that cannot change */
	OBJECT_ANSWER_REFUSED,   /* any other 4xx: what was sent is wrong */
	OBJECT_ANSWER_FORBIDDEN,
	OBJECT_ANSWER_BUSY,        /* 429 or 5xx of the server */
	OBJECT_ANSWER_UNREACHABLE, /* no answer, or not one of an API server */
	OBJECT_ANSWER_MAX,
};

/*
 * A 422 is only OBJECT_ANSWER_IMMUTABLE if each of its causes is a field that cannot be changed:
 * the object is deleted and made again then, which must not happen if the new one would be refused
 * too.
 */
enum object_answer object_answer_read(const struct kube_result *result);

#endif /* CLUSTER_AGENT_OPERATOR_OBJECTS_OBJECT_ANSWER_H */
