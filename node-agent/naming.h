/*
 * Wiring: everything that gives workloads their names. Owns the directory of containers with its
 * sources, the question to the receiver how it wants names to be, and the profiles that wait
 * for names.
 *
 * Loop thread only, but for the directory (container_directory.h).
 */
#ifndef NODE_AGENT_NAMING_H
#define NODE_AGENT_NAMING_H

#include "common/agent/agent.h"
#include "common/base.h"
#include "common/data/buf.h"
#include "node-agent/container/container_directory.h"
#include "node-agent/host_identity.h"
#include "node-agent/process/process_table.h"

struct naming;
struct finished_profile;

struct naming_config {
	const struct host_identity *host;
	/* See named_uploads.h. */
	bool (*admit)(void *ctx, const struct workload *w, const struct finished_profile *p);
	void *ctx;
};

struct node_options;

/*
 * After agent_start_uploads(). Pointers are borrowed. Returns 0, or a negative errno, with a
 * sentence in err if an option is wrong.
 */
int naming_new(struct naming **ret, struct agent *base, const struct node_options *o,
	       const struct naming_config *cfg, struct err *err) MUST_CHECK;
/*
 * After everything that looks up names, and before agent_fini(); profiles that wait are lost.
 * NULL is allowed.
 */
void naming_free(struct naming *n);
DEFINE_CLEANUP(struct naming *, naming_free);

struct container_directory *naming_directory(struct naming *n);

/* For process_table_subscribe(): asks for the names of containers whose processes are sampled. */
struct process_listener *naming_listener(struct naming *n);

/* As named_uploads_add(). */
void naming_upload(struct naming *n, const struct finished_profile *p);

/* Every second. */
void naming_beat(struct naming *n);

/* For the stop of the agent: profiles wait for a second at most; agent_stop_if_done() is called. */
void naming_hurry(struct naming *n);
bool naming_is_done(const struct naming *n);

#endif /* NODE_AGENT_NAMING_H */
