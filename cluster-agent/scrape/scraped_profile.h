/*
 * A profile as a target serves it → as it is uploaded. Pure but for the baseline it is given.
 *
 * Sample types become "go:<path>_<type>:<unit>" (path: profile, heap, goroutine, mutex, block). Of a CPU
 * profile "samples" is left out. alloc_objects and alloc_space of a heap, contentions and delay of
 * mutexes and blocking grow from the start of the process: they are replaced by what was added since
 * the profile before, per stack; the first profile gives none. All samples with equal stacks are
 * merged, in all dimensions. Labels of samples and comments are dropped, and so is what no sample
 * refers to.
 *
 * A process that began anew shows by any stack whose value fell or that is gone: then what it has is
 * what was added, since the process before it was alive at the profile before. Only the values can tell:
 * that a container of the pod started may be about another container, and may be learned before
 * the old process answers for the last time or after the new one did for the first. Believed
 * against the values it would count everything since the start of a process once more; a restart that
 * the values do not show (each stack has more than before) loses no more than the last profile had.
 *
 * Source: runtime/pprof of Go (writeHeapProto, printCountCycleProfile): its buckets never vanish and never shrink.
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
	int64_t scraped_at_ns;  /* when the answer was whole, since the epoch: our clock */
	int64_t previous_at_ns; /* of the profile before; 0: none */
	/*
	 * Stands in for the time since then when there is none, and of a CPU profile for its duration
	 * when it does not say.
	 */
	int64_t interval_ns;
	/* A container began anew since then. Decides only when other types are served than before. */
	bool restarted;
};

/*
 * Rewrites p, all in p->arena: types, samples (those that are all 0 left out), end and duration. A
 * CPU profile covers its own duration up to now, the others the time since the one before. b then has
 * this profile's values. Afterwards p->n_types == 0 or n_samples == 0 mean that there is nothing to
 * upload.
 *
 * 0; -EBADMSG: not what kind promises, with a sentence in err; -EFBIG, likewise; -ENOMEM. On failure b is
 * as before.
 */
int scraped_profile_convert(struct profile *p, struct profile_baseline *b,
			    const struct scraped_profile_info *info, bool *ret_restarted,
			    struct err *err) MUST_CHECK;

#endif /* CLUSTER_AGENT_SCRAPE_SCRAPED_PROFILE_H */
