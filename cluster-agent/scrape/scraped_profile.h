/*
 * A profile as a target serves it → as it is uploaded. Pure but for the state it is given.
 *
 * Sample types become "go:<path>_<type>:<unit>" (path: profile, heap, goroutine, mutex, block). Of a CPU
 * profile "samples" is left out. alloc_objects, alloc_space, contentions and delay grow from the
 * start of the process: they are replaced by what was added since the profile before, per stack;
 * the first profile gives none. All samples with equal stacks (name, file and line of every frame)
 * are merged, in all dimensions. Labels of samples are dropped.
 *
 * A process that began anew shows by any stack whose value fell or that is gone, or is known from its
 * containers: then what it has is what was added.
 */
#ifndef CLUSTER_AGENT_SCRAPE_SCRAPED_PROFILE_H
#define CLUSTER_AGENT_SCRAPE_SCRAPED_PROFILE_H

#include "cluster-agent/discover/scrape_target.h"
#include "common/base.h"
#include "common/err.h"
#include "common/profile.h"

/* Values of one endpoint's cumulative types at its last profile; compact. A zeroed one is empty. */
struct profile_baseline {
	struct baseline_entry *entries; /* sorted by hash */
	uint32_t n_entries;
	uint32_t n_types;
	uint64_t types_hash; /* of the names of the types they belong to */
	bool valid;
};

void profile_baseline_fini(struct profile_baseline *b);
size_t profile_baseline_bytes(const struct profile_baseline *b);

struct scraped_profile_info {
	enum profile_kind kind;
	int64_t scraped_at_ns;  /* when the answer was whole, since the epoch: our clock */
	int64_t previous_at_ns; /* of the profile before; 0: none */
	int64_t interval_ns;    /* stands in for the time since then when there is none */
	bool restarted;         /* the process is known to be a new one since then */
};

/*
 * Rewrites p, all in p->arena: types, samples (merged, those that are all 0 left out), end and
 * duration. A CPU profile covers its own duration up to now, the others the time since the one before.
 * b then has this profile's values. Afterwards p->n_types == 0 or n_samples == 0 mean that there is
 * nothing to upload.
 *
 * 0; -EBADMSG: not what kind promises, with a sentence in err; -EFBIG; -ENOMEM. On failure b is as before.
 */
int scraped_profile_convert(struct profile *p, struct profile_baseline *b,
			    const struct scraped_profile_info *info, bool *ret_restarted,
			    struct err *err) MUST_CHECK;

#endif /* CLUSTER_AGENT_SCRAPE_SCRAPED_PROFILE_H */
