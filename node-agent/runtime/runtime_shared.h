/*
 * What all threads of a worker share: counters, metrics per container, and the runtime's own
 * shared object. Threads that were abandoned keep a reference, so it is freed when the last of
 * them has ended.
 */
#ifndef NODE_AGENT_RUNTIME_RUNTIME_SHARED_H
#define NODE_AGENT_RUNTIME_RUNTIME_SHARED_H

#include "common/base.h"
#include "node-agent/runtime/runtime_ops.h"

struct runtime_shared {
	atomic_uint n_refs;
	const struct runtime_ops *ops;
	void *runtime; /* of ops->shared_new() */
	struct metric metrics[RUNTIME_METRICS];
	struct metric profiles[RUNTIME_PROFILES_MAX];
	struct runtime_containers *containers;
};

/*
 * With one reference. config is for ops->shared_new(), directory for runtime_containers.h. ms is
 * freed before. Returns 0, -ENOMEM,
 * -EINVAL if a table of metrics is wrong, or an error of ops->shared_new().
 */
int runtime_shared_new(struct runtime_shared **ret, const struct runtime_ops *ops,
		       const void *config, struct container_directory *directory,
		       struct metrics *ms) MUST_CHECK;
/* From any thread. */
struct runtime_shared *runtime_shared_ref(struct runtime_shared *s);
/* From any thread. NULL is allowed. */
void runtime_shared_unref(struct runtime_shared *s);
DEFINE_CLEANUP(struct runtime_shared *, runtime_shared_unref);

/* Counts a failed reading by its reason. -ECANCELED is none. */
void runtime_shared_count_failure(struct runtime_shared *s, int error);

#endif /* NODE_AGENT_RUNTIME_RUNTIME_SHARED_H */
