/*
 * Someone who knows containers by their ids: a container runtime behind its socket, or the API
 * server. The directory asks; a source answers when it can, and nothing waits for it.
 *
 * All functions and callbacks run on the loop thread. No function may block: sources are other
 * people's daemons, which hang, restart and send garbage.
 */
#ifndef NODE_AGENT_CONTAINER_CONTAINER_SOURCE_H
#define NODE_AGENT_CONTAINER_CONTAINER_SOURCE_H

#include "common/base.h"
#include "node-agent/container/container_facts.h"

/* Where a source puts its answers: implemented by the directory. */
struct container_sink {
	/*
	 * A container that exists, asked for or not. The facts are copied. May be called at any
	 * time, and again for the same id when more is known or something has changed.
	 */
	void (*found)(void *ctx, const struct container_facts *facts);
	void *ctx;
};

/* Containers that are asked about, at least one. Borrowed for the call. */
struct container_question {
	const char *const *ids;
	/* the pod around each, as its cgroup's path names it; "" if none; NULL: all are unknown */
	const char *const *pod_uids;
	size_t n;
};

/*
 * Ends one request. error is 0 if the source has answered: ids for which found() was not
 * called are unknown to it. Otherwise a negative errno: it could not be asked (-ETIMEDOUT,
 * -ECONNREFUSED, -ENOENT without a socket, -EBADMSG …).
 */
typedef void (*container_source_done_fn)(void *ctx, int error);

struct container_source_ops {
	const char *name; /* "cri", "docker": in log lines and metrics */
	/*
	 * At most one request is under way; done is called exactly once, within a few seconds,
	 * and never from within this function. Returns 0, or a negative errno; then done is not
	 * called.
	 */
	int (*ask)(void *source, const struct container_question *q, container_source_done_fn done,
		   void *ctx);
	/* Cancels a request under way: its done is not called. */
	void (*free)(void *source);
};

#endif /* NODE_AGENT_CONTAINER_CONTAINER_SOURCE_H */
