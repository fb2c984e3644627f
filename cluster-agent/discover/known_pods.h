/*
 * Which pods were told, and as what: by uid, with a hash of the target and the
 * number of the list that named it last. Nothing else of a pod is kept.
 */
#ifndef CLUSTER_AGENT_DISCOVER_KNOWN_PODS_H
#define CLUSTER_AGENT_DISCOVER_KNOWN_PODS_H

#include "cluster-agent/discover/scrape_target.h"
#include "common/base.h"

struct known_pods;

int known_pods_new(struct known_pods **ret) MUST_CHECK;
void known_pods_free(struct known_pods *k);
DEFINE_CLEANUP(struct known_pods *, known_pods_free);

size_t known_pods_count(const struct known_pods *k);

/* 1: t is new or differs from what its uid was before; 0: it does not; -ENOMEM: unchanged. */
int known_pods_put(struct known_pods *k, const struct scrape_target *t, uint64_t list) MUST_CHECK;

/* Whether it was there. uid may belong to the pod itself. */
bool known_pods_remove(struct known_pods *k, const char *uid);

/* Removes all that no list from this one on has named; gone is called before each goes. */
void known_pods_sweep(struct known_pods *k, uint64_t list, void (*gone)(void *ctx, const char *uid),
		      void *ctx);

#endif /* CLUSTER_AGENT_DISCOVER_KNOWN_PODS_H */
