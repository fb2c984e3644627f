/*
 * Which pods have been told as targets, and as what: so that only what changed is told again, and
 * what a new list no longer names is known. Loop thread only.
 *
 * Keeps a uid and a hash per pod, some 150 bytes.
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
 * Marks t's pod. 1: it is new, or different from before; 0: it is not; -ENOSPC: there are max;
 * -ENOMEM.
 */
int known_pods_put(struct known_pods *k, const struct scrape_target *t) MUST_CHECK;
/* Marks it when it is known. */
void known_pods_keep(struct known_pods *k, const char *uid);
/* Whether it was known. */
bool known_pods_remove(struct known_pods *k, const char *uid);

/* Takes the marks away. */
void known_pods_unmark(struct known_pods *k);
/* Removes what has no mark; gone is called for each. */
void known_pods_sweep(struct known_pods *k, void (*gone)(void *ctx, const char *uid), void *ctx);

size_t known_pods_count(const struct known_pods *k);

#endif /* CLUSTER_AGENT_DISCOVER_KNOWN_PODS_H */
