/* Stacks of a query → struct profile, for a download that other tools read. Pure. */
#ifndef CLUSTER_AGENT_QUERY_PPROF_EXPORT_H
#define CLUSTER_AGENT_QUERY_PPROF_EXPORT_H

#include "cluster-agent/query/flame_tree.h"
#include "cluster-agent/query/query_filter.h"
#include "common/base.h"
#include "common/data/arena.h"
#include "common/data/buf.h"
#include "common/data/intern.h"
#include "common/pprof/profile.h"

/* Everything a zeroed one lacks comes with pprof_export_init(). */
struct pprof_export {
	struct arena arena;
	struct intern *texts; /* frames; ids are location and function indexes */
	struct profile_sample *samples;
	uint32_t n_samples;
	uint32_t max_samples;
};

/* max_samples stacks at most. -ENOMEM; fini also after a failure. */
int pprof_export_init(struct pprof_export *e, uint32_t max_samples) MUST_CHECK;
void pprof_export_fini(struct pprof_export *e);

/* 0; -EFBIG: more than max_samples stacks or more text than fits; -ENOMEM. */
int pprof_export_add(struct pprof_export *e, const struct flame_frame *frames, size_t n_frames,
		     int64_t value) MUST_CHECK;

/* Appends a gzipped pprof of what was added. 0; -EFBIG over out's limit; -ENOMEM. */
int pprof_export_write(struct pprof_export *e, const struct query_filter *f,
		       struct buf *out) MUST_CHECK;

#endif /* CLUSTER_AGENT_QUERY_PPROF_EXPORT_H */
