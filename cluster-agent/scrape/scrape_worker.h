/*
 * Worker threads that turn answers into uploads: decode, convert, encode. Called from the loop
 * thread only.
 */
#ifndef CLUSTER_AGENT_SCRAPE_SCRAPE_WORKER_H
#define CLUSTER_AGENT_SCRAPE_SCRAPE_WORKER_H

#include <stdatomic.h>

#include "cluster-agent/scrape/scraped_profile.h"
#include "common/base.h"
#include "common/data/arena.h"
#include "common/data/buf.h"
#include "common/err.h"
#include "common/system/loop.h"

struct scrape_worker;

struct scrape_conversion {
	void *owner; /* for the caller */
	/* may be set at any time: the result will not be used, so it need not be computed */
	_Atomic bool unwanted;

	struct buf body; /* as received; freed by the conversion */
	struct scraped_profile_info info;
	struct profile_baseline baseline; /* of the endpoint; replaced by this profile's values */

	int error; /* 0, -EBADMSG or -EFBIG (with a sentence in err), -ENOMEM or -ECANCELED */
	struct err err;
	struct buf upload; /* gzipped pprof; empty if there is nothing to upload */
	bool restarted;
	struct profile_losses losses; /* what is not in upload */
	uint64_t cpu_ns;
};

void scrape_conversion_fini(struct scrape_conversion *c);

/* The work of a thread. Pure. arena is cleared before and after. */
void scrape_conversion_run(struct scrape_conversion *c, struct arena *arena);

/*
 * done is woken when a conversion has finished. The threads start with the first conversion, so
 * that metrics can be registered before that. Returns 0 or -ENOMEM.
 */
int scrape_worker_new(struct scrape_worker **ret, unsigned n_threads, size_t max_queued,
		      struct loop_source *done) MUST_CHECK;
/*
 * Waits for running conversions. Those that were not taken are passed to release. w may be
 * NULL.
 */
void scrape_worker_free(struct scrape_worker *w, void (*release)(struct scrape_conversion *c));

/*
 * Takes ownership of c on success. Returns 0, -EAGAIN if max_queued conversions are not taken
 * yet, or the errno of starting a thread.
 */
int scrape_worker_adopt(struct scrape_worker *w, struct scrape_conversion *c) MUST_CHECK;
/* Returns a finished conversion, which the caller owns again, or NULL. */
struct scrape_conversion *scrape_worker_take(struct scrape_worker *w);

#endif /* CLUSTER_AGENT_SCRAPE_SCRAPE_WORKER_H */
