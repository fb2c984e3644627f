/*
 * "prev_profile" of Pyroscope's /ingest: a pprof whose counts since the start of the process are
 * subtracted from those of the next one, stack by stack. Pure; foreign data.
 */
#ifndef CLUSTER_AGENT_PUSH_PREVIOUS_PROFILE_H
#define CLUSTER_AGENT_PUSH_PREVIOUS_PROFILE_H

#include "cluster-agent/push/sample_type_config.h"
#include "common/base.h"
#include "common/err.h"
#include "common/pprof/profile.h"

/*
 * Replaces the samples of p, in its arena, by the differences to prev; types that are not
 * cumulative keep their values. config says which are; if it lists no types, it is what Go counts
 * from the start: alloc_objects, alloc_space, contentions, delay. If a stack has less than before,
 * the process has restarted, and the values stay as they are.
 *
 * Returns 0, -EBADMSG if the types differ or values exceed 63 bits (with one line in err), -EFBIG
 * if the arena's limit is exceeded, or -ENOMEM.
 */
int previous_profile_subtract(struct profile *p, const struct profile *prev,
			      const struct sample_type_config *config, struct err *err) MUST_CHECK;

#endif /* CLUSTER_AGENT_PUSH_PREVIOUS_PROFILE_H */
