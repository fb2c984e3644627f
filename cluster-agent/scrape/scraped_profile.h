/*
 * Converts a profile as a target serves it into a profile to upload. Pure but for the baseline.
 *
 * Sample types get our names by push/foreign_types.h, whatever the program is written in. Some
 * types grow from the start of the process: allocations of a heap, contentions and delay of mutex
 * and block profiles. They are replaced by the difference to the previous profile, per stack, and
 * omitted from the first profile. Profiles that are recorded on demand (CPU, wall, fgprof) and
 * those of godeltaprof have nothing from before, except for the first of godeltaprof. Samples with
 * equal stacks are merged, in all dimensions. Labels of samples and comments are dropped, as are
 * functions and locations without samples.
 *
 * Whether the process has restarted is decided by the values alone: then a stack has a smaller
 * value, or is missing. All of the new values are reported in that case, since the process did
 * not exist at the previous profile. The pod's status, which reports restarts of containers, is
 * not used for this: it may concern another container, and may arrive before the last answer of
 * the old process or after the first answer of the new one. To trust it against the values
 * would report everything since the start of a process twice; whereas a restart that the values
 * do not show (every stack has more than before) loses at most the values of the previous
 * profile.
 *
 * Negative values count as 0. Where that makes a cumulative value smaller than before, the profile
 * has no cumulative types, and the next one is compared with the one before it.
 *
 * Source: Go's runtime/pprof (writeHeapProto, printCountCycleProfile): its buckets never
 * disappear and never shrink.
 */
#ifndef CLUSTER_AGENT_SCRAPE_SCRAPED_PROFILE_H
#define CLUSTER_AGENT_SCRAPE_SCRAPED_PROFILE_H

#include "cluster-agent/discover/scrape_target.h"
#include "cluster-agent/scrape/profile_baseline.h"
#include "common/base.h"
#include "common/err.h"
#include "common/pprof/profile.h"

struct scraped_profile_info {
	enum profile_kind kind;
	int64_t scraped_at_ns;  /* when the answer was complete, since the epoch, by our clock */
	int64_t previous_at_ns; /* of the previous profile; 0 if none */
	/*
	 * Used as the duration if there is no previous profile, and for a profile recorded on
	 * demand that does not state its duration.
	 */
	int64_t interval_ns;
	/*
	 * A container has restarted since then. Only used if the types differ from the previous
	 * ones.
	 */
	bool restarted;
};

/*
 * Rewrites p within p->arena: types, samples (without those that are all 0), end and duration.
 * A profile recorded on demand covers its own duration up to now, the others the time since the
 * previous one. b is updated to this profile's values. If p->n_types or p->n_samples is 0
 * afterwards, there is nothing to upload.
 *
 * Returns 0, -EBADMSG if its values cannot be used, -EFBIG if the arena's limit is
 * exceeded (both with a sentence in err), or -ENOMEM. On failure b is unchanged.
 */
int scraped_profile_convert(struct profile *p, struct profile_baseline *b,
			    const struct scraped_profile_info *info, bool *ret_restarted,
			    struct err *err) MUST_CHECK;

#endif /* CLUSTER_AGENT_SCRAPE_SCRAPED_PROFILE_H */
