/*
 * A flame graph in the form of Pyroscope: bars by level, each with the distance from the end of the
 * bar before it (pkg/model/flamegraph.go and flamegraph_diff.go of Pyroscope). Pure.
 *
 * A bar is 4 numbers: distance, total, self, index of its name. In a comparison it is 7: distance,
 * total and self on the left, which is the base, the same on the right, and the index. The first
 * level has one bar, the root, with names[0].
 */
#ifndef CLUSTER_AGENT_PYROSCOPE_FLAME_LEVELS_H
#define CLUSTER_AGENT_PYROSCOPE_FLAME_LEVELS_H

#include "common/base.h"
#include "common/data/arena.h"
#include "common/flame/flame_tree.h"
#include "proto/querier.pb-c.h"

/* Both fill ret with memory of the arena. Return 0, -EFBIG if it does not fit, or -ENOMEM. */
int flame_levels_single(const struct flame_view *v, struct arena *arena,
			Querier__V1__FlameGraph *ret) MUST_CHECK;
int flame_levels_diff(const struct flame_view *v, struct arena *arena,
		      Querier__V1__FlameGraphDiff *ret) MUST_CHECK;

/* A copy of text without what protobuf's strings may not contain, or NULL as arena_alloc(). */
char *flame_levels_text(struct arena *arena, const char *text, size_t len);

#endif /* CLUSTER_AGENT_PYROSCOPE_FLAME_LEVELS_H */
