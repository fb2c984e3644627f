/*
 * Containers of pods, from one container runtime's CRI socket (containerd, CRI-O): a source for the
 * container directory. Speaks runtime.v1; a socket where that service is unknown, such as that of
 * Docker's own containerd, is asked again after a minute, and knows no containers until then.
 */
#ifndef NODE_AGENT_CONTAINER_CRI_SOURCE_H
#define NODE_AGENT_CONTAINER_CRI_SOURCE_H

#include "common/base.h"
#include "common/system/loop.h"
#include "node-agent/container/container_source.h"

struct cri_source;

struct cri_source_config {
	struct loop *loop;
	const char *socket;  /* for log lines */
	const char *connect; /* path to connect to; NULL: socket */
	const char *node;    /* name of this node, which static pods' names end in; NULL: unknown */
	const struct container_sink *sink; /* borrowed */
	uint64_t timeout_ns; /* of a request; of a whole question twice that; 0: 2 s */
};

/* Whom container_directory_attach() takes with a cri_source; frees it. */
extern const struct container_source_ops cri_source_ops;

/* Texts are copied. Returns 0, -ENOMEM, or -EMFILE and the like. */
int cri_source_new(struct cri_source **ret, const struct cri_source_config *cfg) MUST_CHECK;

#endif /* NODE_AGENT_CONTAINER_CRI_SOURCE_H */
