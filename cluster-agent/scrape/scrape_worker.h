/*
 * Threads that turn answers into uploads: decode, convert, encode. Used from one thread, the loop's.
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
	void *owner; /* the caller's */
	/* from any time on: its result is not looked at any more, so that it need not be made */
	_Atomic bool unwanted;

	struct buf body; /* as served; released by the conversion */
	struct scraped_profile_info info;
	struct profile_baseline baseline; /* of the endpoint; becomes this profile's */

	int error; /* 0; -EBADMSG, -EFBIG: err says why; -ENOMEM; -ECANCELED */
	struct err err;
	struct buf upload; /* gzipped pprof; empty: there is nothing to upload */
	bool restarted;
	uint64_t cpu_ns;
};

void scrape_conversion_fini(struct scrape_conversion *c);

/* What the threads do. Pure. arena is cleared before and after. */
void scrape_conversion_run(struct scrape_conversion *c, struct arena *arena);

/*
 * done is woken when something is finished. The threads start with the first conversion, so that
 * metrics can be registered before. -ENOMEM.
 */
int scrape_worker_new(struct scrape_worker **ret, unsigned n_threads, size_t max_queued,
		      struct loop_source *done) MUST_CHECK;
/* Waits for conversions under way; those that were not taken are released. NULL is allowed. */
void scrape_worker_free(struct scrape_worker *w, void (*release)(struct scrape_conversion *c));

/*
 * c is the worker's on success. -EAGAIN: max_queued were given and not taken; -errno of starting a
 * thread.
 */
int scrape_worker_adopt(struct scrape_worker *w, struct scrape_conversion *c) MUST_CHECK;
/* A finished one, which is the caller's again, or NULL. */
struct scrape_conversion *scrape_worker_take(struct scrape_worker *w);

#endif /* CLUSTER_AGENT_SCRAPE_SCRAPE_WORKER_H */
