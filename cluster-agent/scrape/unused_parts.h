/*
 * Takes functions and locations that no sample refers to out of a profile: most of what a process
 * ever did is in every one of its profiles, little of it happened in the last minute. Pure.
 */
#ifndef CLUSTER_AGENT_SCRAPE_UNUSED_PARTS_H
#define CLUSTER_AGENT_SCRAPE_UNUSED_PARTS_H

#include "common/base.h"
#include "common/pprof/profile.h"

/* In p->arena; the samples' order, stacks and values stay. 0; -EFBIG: the arena's limit; -ENOMEM. */
int unused_parts_remove(struct profile *p) MUST_CHECK;

#endif /* CLUSTER_AGENT_SCRAPE_UNUSED_PARTS_H */
