/*
 * Makes scrape_targets of Docker's list of containers (GET /containers/json), which podman answers
 * too. Pure; the input is untrusted.
 *
 * A container's labels are what a pod's annotations are (pod_target.h). Its address is that of its
 * first network; containers that share the host's network have 127.0.0.1, and those that share
 * another container's have that one's.
 *
 * Source: https://docs.docker.com/reference/api/engine/
 */
#ifndef CLUSTER_AGENT_DISCOVER_DOCKER_TARGETS_H
#define CLUSTER_AGENT_DISCOVER_DOCKER_TARGETS_H

#include "cluster-agent/discover/scrape_target.h"
#include "common/base.h"

/* In a list, a container has 1 to 3 KiB. */
#define DOCKER_TARGETS_ANSWER_BYTES ((size_t)4 * 1024 * 1024)
#define DOCKER_TARGETS_MAX 1000u

struct docker_targets_reader {
	bool is_podman;            /* names are /podman/<name> instead of /docker/<name> */
	const bool *default_kinds; /* PROFILE_KIND_MAX, for containers that do not name any */
	/*
	 * A target, valid during the call: a running container that asks to be scraped, perhaps
	 * with a problem, or one of whose labels is a mistake. Its uid is "docker/<id>".
	 */
	void (*target)(void *ctx, const struct scrape_target *t);
	void *ctx;
};

/*
 * Containers of pods are left out: their pods are. Returns 0; -ENOSPC if more than
 * DOCKER_TARGETS_MAX containers ask to be scraped, of which the first were passed on; -EBADMSG if
 * the text is not such a list, or -ENOMEM.
 */
int docker_targets_read(const char *text, size_t len,
			const struct docker_targets_reader *cfg) MUST_CHECK;

#endif /* CLUSTER_AGENT_DISCOVER_DOCKER_TARGETS_H */
