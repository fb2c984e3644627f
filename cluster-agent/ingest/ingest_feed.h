/*
 * Scraped profiles → ingest of the same process; with --coroot-url, common/upload/uploader.h
 * sends them to a receiver elsewhere instead. Loop thread only.
 *
 * A profile waits in memory until its rows are durable. While ingest is busy or the store
 * fails, all profiles wait, with back-off. Beyond the bounds the oldest waiting profile is
 * dropped; so is a profile that ingest refuses for good. Drops are counted by reason.
 */
#ifndef CLUSTER_AGENT_INGEST_INGEST_FEED_H
#define CLUSTER_AGENT_INGEST_INGEST_FEED_H

#include "cluster-agent/ingest/ingest.h"
#include "common/base.h"
#include "common/data/buf.h"
#include "common/system/loop.h"
#include "common/telemetry/metrics.h"
#include "common/upload/upload_receipt.h"
#include "common/upload/upload_url.h"

struct ingest_feed;

struct ingest_feed_config {
	struct loop *loop;
	struct ingest *ingest;         /* borrowed; stopped before the feed is freed */
	size_t max_items;              /* 0: 8192 */
	size_t max_bytes;              /* 0: 64 MiB */
	uint64_t retry_min_ns;         /* 0: 500 ms */
	uint64_t retry_max_ns;         /* 0: 10 s */
	upload_receipt_fn *on_receipt; /* may be NULL */
	void *receipt_ctx;
};

int ingest_feed_new(struct ingest_feed **ret, const struct ingest_feed_config *cfg) MUST_CHECK;
/*
 * Drops and counts what still waits. Stop ingest and the log first: they answer to it.
 */
void ingest_feed_free(struct ingest_feed *f);
DEFINE_CLEANUP(struct ingest_feed *, ingest_feed_free);

/* coroot_cluster_agent_scraped_profiles_…; before other threads start. */
int ingest_feed_register(struct ingest_feed *f, struct metrics *ms) MUST_CHECK;

/*
 * Takes the content of body (a pprof, gzipped or not), also if it has to drop it. labels are
 * those of upload_url_make(), "service.name" among them, which end with a NULL name. number: under
 * which on_receipt hears of it, or 0.
 */
void ingest_feed_put(struct ingest_feed *f, uint64_t number, const struct upload_label *labels,
		     struct buf *body);

/*
 * Submits what waits to ingest, and drops what ingest does not take. Call it before
 * ingest_stop().
 */
void ingest_feed_flush(struct ingest_feed *f);

#endif /* CLUSTER_AGENT_INGEST_INGEST_FEED_H */
