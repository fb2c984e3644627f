/*
 * Which container is it: names for the ids in cgroup paths.
 *
 * container_directory_name() turns the raw workload of a container into its named one, from
 * any thread, with one lock and one lookup. Ids that it has not seen before are collected for a
 * moment, and each source that serves their kind is asked for all of them at once. Until the
 * sources have answered, lookups say so (-EAGAIN); the caller carries on with the name so far or
 * waits for the listener, as it likes. Nothing ever blocks.
 *
 * Several sources may know a container. Their facts complete each other; where they differ,
 * the source with the lowest rank wins. An id that no source knows is asked for again
 * after growing pauses, and then left alone for ten minutes. A source that fails or hangs is
 * left alone for growing pauses as well, and delays nobody else; what it may have known is
 * asked for when it works again.
 *
 * All functions but container_directory_name() are for the loop thread.
 */
#ifndef NODE_AGENT_CONTAINER_CONTAINER_DIRECTORY_H
#define NODE_AGENT_CONTAINER_CONTAINER_DIRECTORY_H

#include "common/base.h"
#include "common/system/loop.h"
#include "common/telemetry/metrics.h"
#include "common/text/kube_names.h"
#include "node-agent/container/container_source.h"
#include "node-agent/workload/workload.h"

#define CONTAINER_DIRECTORY_MAX 20000u
#define CONTAINER_DIRECTORY_SOURCES_MAX 48u

struct container_directory;
struct directory_source;

/* Tells others of names that become known; called on the loop thread. */
struct container_listener {
	/*
	 * Lookups of this container have a final answer, or another one than before: w, which
	 * may still be the raw workload. May look up names and must not free the directory.
	 */
	void (*on_name)(void *ctx, struct workload *w);
	void *ctx;
	struct container_listener *next; /* for the directory's use */
};

struct container_directory_config {
	const char *node;  /* the name of this node; NULL if unknown; copied */
	uint64_t batch_ns; /* how long ids are collected; 0: 50 ms */
	uint64_t hang_ns;  /* a request that takes longer has failed; 0: 15 s */
	uint64_t idle_ns;  /* a container not looked up for so long is dropped; 0: ten minutes */
	size_t max;        /* containers; 0: CONTAINER_DIRECTORY_MAX */
};

/* l is borrowed. Returns 0, -ENOMEM, or -EMFILE and the like. */
int container_directory_new(struct container_directory **ret, struct loop *l,
			    const struct container_directory_config *cfg) MUST_CHECK;
/* Frees the sources. No other thread may use the directory any more. NULL is allowed. */
void container_directory_free(struct container_directory *d);
DEFINE_CLEANUP(struct container_directory *, container_directory_free);

/* Before threads start that read metrics. As metrics_register(). */
int container_directory_register_metrics(struct container_directory *d,
					 struct metrics *ms) MUST_CHECK;

/* The bit of a kind in container_source_config.kinds. */
#define CONTAINER_KIND(kind) (UINT32_C(1) << (kind))

struct container_source_config {
	const struct container_source_ops *ops; /* static */
	uint32_t kinds; /* what the source may know: CONTAINER_KIND() | … */
	unsigned rank;  /* where facts differ, those of the lowest rank win; then of the first */
	bool is_users;  /* belongs to a user: believed if no other source knows the container */
	/*
	 * "docker": the folder of containers outside pods whose cgroup does not name the runtime;
	 * NULL if the source has none. Static.
	 */
	const char *runtime;
};

/*
 * Makes room for a source, at any time. The source itself is made with the sink and passed to
 * directory_source_attach(); until then it is not asked. Returns 0, -ENOMEM, or -ENOSPC.
 */
int container_directory_add_source(struct container_directory *d,
				   const struct container_source_config *cfg,
				   struct directory_source **ret) MUST_CHECK;
/* Where the source puts what it finds. Valid as long as the directory. */
const struct container_sink *directory_source_sink(struct directory_source *s);
/* Takes source, which ops->free() will free, and asks it about everything that has no name yet. */
void directory_source_attach(struct directory_source *s, void *source);

/* l is borrowed, and called from now on. */
void container_directory_listen(struct container_directory *d, struct container_listener *l);

/*
 * How pods are to be named: KUBE_NAMING_COROOT until this is called. Listeners are not called.
 * d may be NULL.
 */
void container_directory_set_naming(struct container_directory *d, enum kube_naming naming);

/*
 * Any thread. *ret is a reference to the workload with the best name so far, at first raw itself.
 * Returns 0, or -EAGAIN if sources are being asked for a better one. Without a directory (d is
 * NULL) all names are final.
 */
int container_directory_name(struct container_directory *d, struct workload *raw,
			     struct workload **ret);

#endif /* NODE_AGENT_CONTAINER_CONTAINER_DIRECTORY_H */
