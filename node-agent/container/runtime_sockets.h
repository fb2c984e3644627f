/*
 * Sockets of the container runtimes of a node, in the usual places of the distributions.
 *
 * A thread looks for them every few seconds, because a runtime may start after the agent, and
 * makes a new socket when it restarts. It alone waits if a file system does not answer.
 *
 * Each place has a slot, and the slot a path for connect(2) that stays the same for the agent's
 * life: /proc/self/fd/<n>, where <n> refers to the socket itself. So no path is resolved when
 * connecting: links inside the host's root were resolved inside it, once, and the path is short
 * enough for a socket address. Where a runtime has restarted, the slot's descriptor is replaced.
 */
#ifndef NODE_AGENT_CONTAINER_RUNTIME_SOCKETS_H
#define NODE_AGENT_CONTAINER_RUNTIME_SOCKETS_H

#include <sys/types.h>

#include "common/base.h"
#include "common/err.h"
#include "common/system/loop.h"

/* Slots of one agent. Users' own runtimes (rootless) come last. */
#define RUNTIME_SOCKETS_MAX 32

enum runtime_api {
	RUNTIME_API_CRI,
	RUNTIME_API_DOCKER,
};

struct runtime_socket {
	const char *runtime; /* "containerd", "cri-o", "docker", "podman" …; "cri" if unknown */
	enum runtime_api api;
	const char *path;    /* as the host sees it, for log lines */
	const char *connect; /* for connect(2) */
	bool users;          /* belongs to a user without privileges: believe it less */
};

struct runtime_sockets;

struct runtime_sockets_config {
	struct loop *loop;
	const char *host_root;  /* NULL: runtime_sockets_host_root() */
	const char *cri_socket; /* a path, also with "unix://", in place of all CRI sockets */
	uint64_t interval_ns;   /* between two scans; 0: five seconds */
	/*
	 * A socket in a place that had none before; valid until runtime_sockets_free(). Called on
	 * the loop thread, once for each slot if it returns 0. Otherwise it is called again for
	 * this slot after the interval, and not for later ones until then.
	 */
	int (*found)(void *ctx, const struct runtime_socket *s);
	void *ctx;
};

/*
 * The root of the host's file system: "/", or "/proc/1/root" if the agent is in a container that
 * shares the host's PIDs.
 */
const char *runtime_sockets_host_root(void);

/*
 * Whether the value of --cri-socket can be one: an absolute path, which is not of another kind
 * of file. It need not exist yet. host_root as above. Returns 0, or -EINVAL with one line.
 */
int runtime_sockets_check(const char *cri_socket, const char *host_root,
			  struct err *err) MUST_CHECK;

/* Returns 0, -ENOMEM, or another errno if there is no thread or descriptor left. */
int runtime_sockets_new(struct runtime_sockets **ret,
			const struct runtime_sockets_config *cfg) MUST_CHECK;
/* Those who connect must have ended. NULL is allowed. */
void runtime_sockets_free(struct runtime_sockets *r);
DEFINE_CLEANUP(struct runtime_sockets *, runtime_sockets_free);

#endif /* NODE_AGENT_CONTAINER_RUNTIME_SOCKETS_H */
