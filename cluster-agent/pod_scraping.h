/*
 * From annotated pods to profiles: makes API client, replica set, discovery and scraper by the
 * options, and connects them. Loop thread only.
 */
#ifndef CLUSTER_AGENT_POD_SCRAPING_H
#define CLUSTER_AGENT_POD_SCRAPING_H

#include "cluster-agent/cluster_options.h"
#include "common/base.h"
#include "common/data/buf.h"
#include "common/err.h"
#include "common/system/loop.h"
#include "common/telemetry/metrics.h"
#include "common/upload/receiver_wishes.h"
#include "common/upload/upload_url.h"

struct http_exchange;
struct pod_scraping;

struct pod_scraping_config {
	const struct cluster_options *opts; /* borrowed */
	struct loop *loop;
	void *ctx;
	/* as in struct scraper_config */
	void (*put)(void *ctx, uint64_t number, const struct upload_label *labels,
		    struct buf *body);
};

/* Whether there is anything to scrape by, and scraping is not switched off. */
bool pod_scraping_wanted(const struct cluster_options *o);

/* Returns 0, or -errno with one line in err: an unreadable kubeconfig, a bad setting. */
int pod_scraping_new(struct pod_scraping **ret, const struct pod_scraping_config *cfg,
		     struct err *err) MUST_CHECK;
/*
 * Ends scraping, for when the loop does not turn any more; metrics can be read until
 * pod_scraping_free(). Later requests for the targets are answered 503.
 */
void pod_scraping_stop(struct pod_scraping *p);
/* After the HTTP server is freed, whose threads may still ask for the targets. */
void pod_scraping_free(struct pod_scraping *p);
DEFINE_CLEANUP(struct pod_scraping *, pod_scraping_free);

int pod_scraping_register(struct pod_scraping *p, struct metrics *ms) MUST_CHECK;

/* Stops scraping and hands the pods over to the other replicas. done is called within seconds. */
void pod_scraping_leave(struct pod_scraping *p, loop_fn done, void *ctx);

/* As scraper_take_receipt(). */
void pod_scraping_take_receipt(void *ctx, uint64_t number, const char *refusal);

/* What the receiver of forwarded profiles wishes: from the next profile on. */
void pod_scraping_set_wishes(struct pod_scraping *p, const struct receiver_wishes *w);

/* To be called every second: updates what other threads see of discovery. */
void pod_scraping_beat(struct pod_scraping *p);
/* discovery_synced() as of the last beat. From any thread. */
bool pod_scraping_synced(struct pod_scraping *p);

/* An http_handler_fn for GET /targets, as JSON. */
void pod_scraping_serve_targets(void *ctx, struct http_exchange *x);

#endif /* CLUSTER_AGENT_POD_SCRAPING_H */
