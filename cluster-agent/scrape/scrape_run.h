/*
 * The scrapes themselves: begins those that are due, receives answers, has them converted and hands
 * them on. Loop thread only.
 *
 * A scrape is a job, which an endpoint and its answer share. An endpoint that is stopped lets go of its
 * job: a request is cancelled, a conversion under way finishes for nobody.
 */
#ifndef CLUSTER_AGENT_SCRAPE_SCRAPE_RUN_H
#define CLUSTER_AGENT_SCRAPE_SCRAPE_RUN_H

#include "cluster-agent/scrape/scraper.h"
#include "cluster-agent/scrape/target_table.h"
#include "common/base.h"
#include "common/system/loop.h"
#include "common/telemetry/metrics.h"

struct scrape_run;

struct scrape_run_config {
	const struct scraper_config *scraper; /* borrowed */
	struct loop_source *wake;             /* calls scrape_run_take_results() */
	struct metric *metrics;               /* SCRAPE_METRIC_MAX of them */
	void *ctx;
	/* The state of one of its endpoints may be another one. */
	void (*changed)(void *ctx, struct target *target);
};

int scrape_run_new(struct scrape_run **ret, const struct scrape_run_config *cfg) MUST_CHECK;
/* Every endpoint has been stopped. NULL is allowed. */
void scrape_run_free(struct scrape_run *run);
DEFINE_CLEANUP(struct scrape_run *, scrape_run_free);

/* Room for n endpoints at the same time. -ENOMEM. */
int scrape_run_reserve(struct scrape_run *run, size_t n) MUST_CHECK;

/* Begins to scrape those of its endpoints that are not yet. At the next turn of the loop at the earliest. */
void scrape_run_start(struct scrape_run *run, struct target *target);
/* Its endpoints know nothing afterwards. */
void scrape_run_stop(struct scrape_run *run, struct target *target);

void scrape_run_take_results(struct scrape_run *run);

#endif /* CLUSTER_AGENT_SCRAPE_SCRAPE_RUN_H */
