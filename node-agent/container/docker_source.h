/*
 * Docker, or podman, as a source of facts about containers: asks over its socket when it is
 * asked, and follows its events, so that it knows a container before its first process runs and
 * after it is gone. Loop thread only.
 */
#ifndef NODE_AGENT_CONTAINER_DOCKER_SOURCE_H
#define NODE_AGENT_CONTAINER_DOCKER_SOURCE_H

#include "common/base.h"
#include "common/system/loop.h"
#include "node-agent/container/container_source.h"

struct docker_source;

struct docker_source_config {
	struct loop *loop;
	const char *socket; /* a path for connect(2); copied */
	struct container_sink sink;
	/*
	 * A daemon that systemd starts with the first connection (podman's) ends when it is idle,
	 * so events are followed only after it was asked for a container that it has, and no
	 * longer than something happens. Otherwise events are followed from the start.
	 */
	bool on_demand;
	/*
	 * A user's own daemon may claim anything of any container: only what was asked for is
	 * passed on, and events are not followed.
	 */
	bool untrusted;
};

/* Returns 0, -ENOMEM, or another errno if there is no descriptor left. */
int docker_source_new(struct docker_source **ret,
		      const struct docker_source_config *cfg) MUST_CHECK;

extern const struct container_source_ops docker_source_ops;
extern const struct container_source_ops podman_source_ops; /* under another name */

#endif /* NODE_AGENT_CONTAINER_DOCKER_SOURCE_H */
