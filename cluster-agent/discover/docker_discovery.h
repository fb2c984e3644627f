/*
 * Finds containers of this host that ask to be scraped, by their labels: asks Docker, or podman,
 * over its socket every ten seconds. Loop thread only.
 *
 * While it does not answer, targets stay as they are; that is one line in the log, and
 * docker_discovery_problem().
 */
#ifndef CLUSTER_AGENT_DISCOVER_DOCKER_DISCOVERY_H
#define CLUSTER_AGENT_DISCOVER_DOCKER_DISCOVERY_H

#include "cluster-agent/discover/scrape_target.h"
#include "common/base.h"
#include "common/system/loop.h"

struct docker_discovery;

struct docker_discovery_config {
	struct loop *loop;
	const char *socket;           /* a path for connect(2); borrowed */
	uint64_t interval_ns;         /* between two questions; 0: ten seconds */
	bool kinds[PROFILE_KIND_MAX]; /* for containers that do not name the kinds they want */
	void *ctx;
	/*
	 * The target is new, or differs from the last one with its uid; valid during the call.
	 * Returns 0, or -ENOMEM if it was not taken in: it is then passed again.
	 */
	int (*upsert)(void *ctx, const struct scrape_target *t);
	void (*remove)(void *ctx, const char *uid);
};

/* Returns 0, -ENOMEM, or another errno if there is no descriptor left. */
int docker_discovery_new(struct docker_discovery **ret,
			 const struct docker_discovery_config *cfg) MUST_CHECK;
/* The targets stay with their owner. d may be NULL. */
void docker_discovery_free(struct docker_discovery *d);
DEFINE_CLEANUP(struct docker_discovery *, docker_discovery_free);

/* Why the targets may be out of date, as one line; "" if they are not. */
const char *docker_discovery_problem(const struct docker_discovery *d);

#endif /* CLUSTER_AGENT_DISCOVER_DOCKER_DISCOVERY_H */
