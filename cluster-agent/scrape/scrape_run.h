/*
 * Runs the scrapes: starts those that are due, receives the answers, has them converted, and
 * passes the results on. Loop thread only.
 *
 * A scrape in progress is a job, shared by an endpoint and its request or conversion. An
 * endpoint that is stopped abandons its job: a request is cancelled; a conversion completes,
 * and its result is dropped.
 */
#ifndef CLUSTER_AGENT_SCRAPE_SCRAPE_RUN_H
#define CLUSTER_AGENT_SCRAPE_SCRAPE_RUN_H

#include "cluster-agent/scrape/scraper_config.h"
#include "cluster-agent/scrape/target_table.h"
#include "common/base.h"
#include "common/system/loop.h"
#include "common/telemetry/metrics.h"

struct scrape_run;

struct scrape_run_config {
	const struct scraper_config *scraper; /* borrowed */
	struct loop_source *wake;             /* its callback calls scrape_run_take_results() */
	struct metric *metrics;               /* array of SCRAPE_METRIC_MAX */
	void *ctx;
	/* The state of one of the target's endpoints may have changed. */
	void (*changed)(void *ctx, struct target *target);
};

int scrape_run_new(struct scrape_run **ret, const struct scrape_run_config *cfg) MUST_CHECK;
/* Call after every endpoint was stopped. run may be NULL. */
void scrape_run_free(struct scrape_run *run);
DEFINE_CLEANUP(struct scrape_run *, scrape_run_free);

/* Finds or makes the group of those settings, which are copied. *ret is run's. 0 or -errno. */
int scrape_run_group(struct scrape_run *run, const struct scrape_settings *settings,
		     struct scrape_group **ret) MUST_CHECK;
/* Frees the groups that no target in the table belongs to. */
void scrape_run_drop_groups(struct scrape_run *run, const struct target_table *table);

/* Reserves memory for n endpoints. Returns 0 or -ENOMEM. */
int scrape_run_reserve(struct scrape_run *run, size_t n) MUST_CHECK;

/*
 * Starts scraping the endpoints that are not being scraped yet, from the next turn of the loop
 * on.
 */
void scrape_run_start(struct scrape_run *run, struct target *target);
/* Stops scraping and resets the endpoints: state, baseline, last error. */
void scrape_run_stop(struct scrape_run *run, struct target *target);

void scrape_run_take_results(struct scrape_run *run);

/* What became of a profile that was passed on: upload_receipt.h. */
void scrape_run_take_receipt(struct scrape_run *run, uint64_t number, const char *refusal);

#endif /* CLUSTER_AGENT_SCRAPE_SCRAPE_RUN_H */
