/*
 * From annotated pods to profiles: API client, replica set, discovery and
 * scraper as the options ask for them, wired to each other. Loop thread only.
 */
#ifndef CLUSTER_AGENT_POD_SCRAPING_H
#define CLUSTER_AGENT_POD_SCRAPING_H

#include "cluster-agent/cluster_options.h"
#include "common/base.h"
#include "common/data/buf.h"
#include "common/err.h"
#include "common/system/loop.h"
#include "common/telemetry/metrics.h"
#include "common/upload/upload_url.h"

struct http_exchange;
struct pod_scraping;

struct pod_scraping_config {
	const struct cluster_options *opts; /* borrowed */
	struct loop *loop;
	void *ctx;
	/* As of scraper_config. */
	void (*put)(void *ctx, const struct upload_label *labels, struct buf *body);
};

/* Whether there is an API server to ask, and an interval. */
bool pod_scraping_wanted(const struct cluster_options *o);

/* A kubeconfig that cannot be read or a bad setting: -errno with one line in err. */
int pod_scraping_new(struct pod_scraping **ret, const struct pod_scraping_config *cfg,
		     struct err *err) MUST_CHECK;
/* No more profiles; requests for the targets are answered with 503 from now on. */
void pod_scraping_stop(struct pod_scraping *p);
/* After the HTTP server, whose threads may still ask for the targets. */
void pod_scraping_free(struct pod_scraping *p);
DEFINE_CLEANUP(struct pod_scraping *, pod_scraping_free);

int pod_scraping_register(struct pod_scraping *p, struct metrics *ms) MUST_CHECK;

/*
 * Scrapes nothing any more and hands the pods over to other replicas, if there are any; done is called
 * within some seconds.
 */
void pod_scraping_leave(struct pod_scraping *p, loop_fn done, void *ctx);

/* Every second or so: brings what others are told about discovery up to date. */
void pod_scraping_beat(struct pod_scraping *p);
/* From any thread: as of discovery_synced() at the last beat. */
bool pod_scraping_synced(struct pod_scraping *p);

/* An http_handler_fn for GET /targets, as JSON. */
void pod_scraping_serve_targets(void *ctx, struct http_exchange *x);

#endif /* CLUSTER_AGENT_POD_SCRAPING_H */
