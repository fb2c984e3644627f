/*
 * Remembers which pods, or containers of Docker, were published as targets, and a digest of each
 * target: so that only changes are published again, and those that a new list does not name can be
 * found. Loop thread only.
 *
 * Keeps a uid and a digest per pod, some 150 bytes.
 */
#ifndef CLUSTER_AGENT_DISCOVER_KNOWN_PODS_H
#define CLUSTER_AGENT_DISCOVER_KNOWN_PODS_H

#include "cluster-agent/discover/scrape_target.h"
#include "common/base.h"

struct known_pods;

int known_pods_new(struct known_pods **ret, size_t max) MUST_CHECK;
void known_pods_free(struct known_pods *k);
DEFINE_CLEANUP(struct known_pods *, known_pods_free);

/*
 * Marks t's pod and stores t's digest. Returns 1 if the pod is new or its digest has changed, 0
 * if not, -ENOSPC if there are max pods already, or -ENOMEM.
 */
int known_pods_put(struct known_pods *k, const struct scrape_target *t) MUST_CHECK;
/*
 * The target was not taken in: the next known_pods_put() of this pod returns 1, whatever its
 * digest.
 */
void known_pods_mark_unpublished(struct known_pods *k, const char *uid);
/* Marks the pod if it is in the table. */
void known_pods_keep(struct known_pods *k, const char *uid);
/* Returns whether the pod was in the table. */
bool known_pods_remove(struct known_pods *k, const char *uid);

/* Removes the marks of all pods. */
void known_pods_unmark(struct known_pods *k);
/* Removes the pods that have no mark, calling removed for each. */
void known_pods_sweep(struct known_pods *k, void (*removed)(void *ctx, const char *uid), void *ctx);

size_t known_pods_count(const struct known_pods *k);

#endif /* CLUSTER_AGENT_DISCOVER_KNOWN_PODS_H */
