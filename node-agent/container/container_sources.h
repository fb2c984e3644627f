/*
 * The container runtimes of this node as sources of the directory: one source for each socket
 * that is found, for as long as the agent runs. Loop thread only.
 */
#ifndef NODE_AGENT_CONTAINER_CONTAINER_SOURCES_H
#define NODE_AGENT_CONTAINER_CONTAINER_SOURCES_H

#include "common/base.h"
#include "common/system/loop.h"
#include "node-agent/container/container_directory.h"

struct container_sources;

struct container_sources_config {
	struct loop *loop;
	struct container_directory *directory;
	const char *host_root;  /* as in runtime_sockets.h */
	const char *cri_socket; /* NULL: those in the usual places */
	const char *node;       /* in Kubernetes; NULL if unknown */
};

/* Returns 0, -ENOMEM, or another errno if there is no thread or descriptor left. */
int container_sources_new(struct container_sources **ret,
			  const struct container_sources_config *cfg) MUST_CHECK;
/* After the directory, which frees the sources. NULL is allowed. */
void container_sources_free(struct container_sources *s);
DEFINE_CLEANUP(struct container_sources *, container_sources_free);

#endif /* NODE_AGENT_CONTAINER_CONTAINER_SOURCES_H */
