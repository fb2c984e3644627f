/*
 * A runtime is only asked for containers that can be its own, by what their cgroups say: a
 * question about every container of the node would start podman's daemon on nodes that only
 * have it installed, and would let a user's own runtime name the containers of others.
 */
#include "node-agent/container/container_sources.h"

#include <errno.h>

#include "common/telemetry/log.h"
#include "node-agent/container/cri_source.h"
#include "node-agent/container/docker_source.h"
#include "node-agent/container/runtime_sockets.h"

struct container_sources {
	struct loop *loop;
	struct container_directory *directory;
	struct runtime_sockets *sockets;
	char *node; /* or NULL */
	/* In the directory, of a runtime that there were no resources for, until the next try. */
	struct directory_source *place;
};

/*
 * POD: in a pod, by a path that does not name the runtime. Podman puts pods of its own
 * elsewhere.
 */
enum {
	POD = CONTAINER_KIND(CGROUP_KUBEPODS),
	CONTAINERD = CONTAINER_KIND(CGROUP_CONTAINERD),
	CRIO = CONTAINER_KIND(CGROUP_CRIO),
	DOCKER = CONTAINER_KIND(CGROUP_DOCKER),
	PODMAN = CONTAINER_KIND(CGROUP_PODMAN),
	ANY = CONTAINER_KIND(CGROUP_CONTAINER), /* under a parent of somebody's own */
};

/* By rank: of a container in a pod, CRI knows more than Docker. */
static const struct {
	const char *runtime;
	uint32_t kinds;
} runtimes[] = {
	{"containerd", CONTAINERD | POD | ANY}, {"cri-o", CRIO | POD | ANY},
	{"cri-dockerd", DOCKER | POD | ANY},    {"cri", CONTAINERD | CRIO | DOCKER | POD | ANY},
	{"docker", DOCKER | POD | ANY},         {"podman", PODMAN | ANY},
};

static void set_kinds(struct container_source_config *cfg, const struct runtime_socket *socket)
{
	while (cfg->rank < ARRAY_SIZE(runtimes) - 1 &&
	       strcmp(runtimes[cfg->rank].runtime, socket->runtime) != 0)
		cfg->rank++;
	cfg->kinds = runtimes[cfg->rank].kinds;
	cfg->is_users = socket->users;
	if (socket->users)
		cfg->kinds &= ~(uint32_t)POD;
}

static int make_place(struct container_sources *s, struct container_source_config *cfg,
		      const struct runtime_socket *socket)
{
	if (s->place)
		return 0;
	set_kinds(cfg, socket);
	return container_directory_add_source(s->directory, cfg, &s->place);
}

static int add_docker(struct container_sources *s, const struct runtime_socket *socket)
{
	bool podman = strcmp(socket->runtime, "podman") == 0;
	struct container_source_config cfg = {
		.ops = podman ? &podman_source_ops : &docker_source_ops,
		.runtime = podman ? "podman" : "docker",
	};
	struct docker_source *source;
	int r = make_place(s, &cfg, socket);

	if (r == 0) {
		const struct docker_source_config docker = {
			.loop = s->loop,
			.socket = socket->connect,
			.sink = *directory_source_sink(s->place),
			.on_demand = podman,
			.untrusted = socket->users,
		};

		r = docker_source_new(&source, &docker);
	}
	if (r == 0)
		directory_source_attach(s->place, source);
	return r;
}

static int add_cri(struct container_sources *s, const struct runtime_socket *socket)
{
	struct container_source_config cfg = {.ops = &cri_source_ops};
	struct cri_source *source;
	int r = make_place(s, &cfg, socket);

	if (r == 0) {
		const struct cri_source_config cri = {
			.loop = s->loop,
			.socket = socket->path,
			.connect = socket->connect,
			.node = s->node,
			.sink = directory_source_sink(s->place),
		};

		r = cri_source_new(&source, &cri);
	}
	if (r == 0)
		directory_source_attach(s->place, source);
	return r;
}

static bool is_temporary(int error)
{
	return error == -ENOMEM || error == -EMFILE || error == -ENFILE || error == -EAGAIN;
}

static int on_found(void *ctx, const struct runtime_socket *socket)
{
	struct container_sources *s = ctx;
	int r = socket->api == RUNTIME_API_CRI ? add_cri(s, socket) : add_docker(s, socket);

	if (is_temporary(r)) {
		log_warn_limited(
			"cannot ask a container runtime yet; trying again in a few seconds",
			"runtime=%s socket=%s error=\"%s\"", socket->runtime,
			LOG_QUOTED(socket->path), strerror(-r));
		return r;
	}
	s->place = NULL;
	if (r < 0)
		log_warn("cannot ask a container runtime; its containers keep the names of their "
			 "cgroups",
			 "runtime=%s socket=%s error=\"%s\"", socket->runtime,
			 LOG_QUOTED(socket->path), strerror(-r));
	else
		log_info("found a container runtime", "runtime=%s socket=%s", socket->runtime,
			 LOG_QUOTED(socket->path));
	return 0;
}

int container_sources_new(struct container_sources **ret,
			  const struct container_sources_config *cfg)
{
	CLEANUP(container_sources_freep) struct container_sources *s = calloc(1, sizeof(*s));
	struct runtime_sockets_config sockets = {
		.loop = cfg->loop,
		.host_root = cfg->host_root,
		.cri_socket = cfg->cri_socket,
		.found = on_found,
		.ctx = s,
	};
	int r;

	if (!s)
		return -ENOMEM;
	s->loop = cfg->loop;
	s->directory = cfg->directory;
	if (cfg->node && !(s->node = strdup(cfg->node)))
		return -ENOMEM;
	r = runtime_sockets_new(&s->sockets, &sockets);
	if (r < 0)
		return r;
	*ret = TAKE_PTR(s);
	return 0;
}

void container_sources_free(struct container_sources *s)
{
	if (!s)
		return;
	runtime_sockets_free(s->sockets);
	free(s->node);
	free(s);
}
