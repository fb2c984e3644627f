/*
 * CPU profiles as a node of a large cluster would send them, made by the agents' encoder.
 *
 * A service is a program whose stacks come from a tree of calls; which of its stacks a profile
 * has, and how often, follows Zipf's law: a few are in every profile, many in a few. Now and then
 * there is one that never was before.
 */
#ifndef TEST_BENCH_SENDERS_SENT_PROFILE_H
#define TEST_BENCH_SENDERS_SENT_PROFILE_H

#include "common/base.h"
#include "common/data/buf.h"

struct sent_profile_shape {
	unsigned n_pool;          /* different stacks of a service, at most SENT_MAX_POOL */
	unsigned n_samples;       /* observations in a profile */
	unsigned new_per_million; /* observations of stacks that are in no pool */
	uint64_t duration_ns;
};
#define SENT_MAX_POOL 20000u

struct sent_profile_maker;
int sent_profile_maker_new(struct sent_profile_maker **ret,
			   const struct sent_profile_shape *shape) MUST_CHECK;
void sent_profile_maker_free(struct sent_profile_maker *m);
DEFINE_CLEANUP(struct sent_profile_maker *, sent_profile_maker_free);

/* Appends the next profile of a service, gzipped; returns the number of its stacks, or -errno. */
int sent_profile_make(struct sent_profile_maker *m, unsigned service, struct buf *out) MUST_CHECK;

#endif /* TEST_BENCH_SENDERS_SENT_PROFILE_H */
