/*
 * Profiles made in this process → ingest: what the uploader is to a receiver
 * elsewhere. Loop thread only.
 *
 * What is put waits in memory until its rows are durable. When ingest is busy or the store fails,
 * everything waits, with back-off; when the bounds are reached the oldest waiting profile is
 * dropped and counted. A profile that ingest refuses for good is dropped and counted.
 */
#ifndef CLUSTER_AGENT_INGEST_INGEST_FEED_H
#define CLUSTER_AGENT_INGEST_INGEST_FEED_H

#include "cluster-agent/ingest/ingest.h"
#include "common/base.h"
#include "common/data/buf.h"
#include "common/system/loop.h"
#include "common/telemetry/metrics.h"
#include "common/upload/upload_url.h"

#define INGEST_FEED_MAX_LABELS 16u

struct ingest_feed;

struct ingest_feed_config {
	struct loop *loop;
	struct ingest *ingest; /* borrowed; stopped before the feed is freed */
	size_t max_items;      /* 0: 8192 */
	size_t max_bytes;      /* 0: 64 MiB */
	uint64_t retry_min_ns; /* 0: 500 ms */
	uint64_t retry_max_ns; /* 0: 10 s */
};

int ingest_feed_new(struct ingest_feed **ret, const struct ingest_feed_config *cfg) MUST_CHECK;
/* What still waits is lost and counted. After ingest and store writer are gone: nothing answers any more. */
void ingest_feed_free(struct ingest_feed *f);
DEFINE_CLEANUP(struct ingest_feed *, ingest_feed_free);

/* coroot_cluster_agent_scraped_profiles_…; before other threads start. */
int ingest_feed_register(struct ingest_feed *f, struct metrics *ms) MUST_CHECK;

/*
 * Takes the content of body (a pprof, gzipped or not) in every case. labels as of upload_url_make(),
 * "service.name" among them. What cannot be kept is counted.
 */
void ingest_feed_put(struct ingest_feed *f, const struct upload_label *labels, struct buf *body);

/* Hand all that waits to ingest now, as far as it takes it: before ingest_stop(). */
void ingest_feed_flush(struct ingest_feed *f);

#endif /* CLUSTER_AGENT_INGEST_INGEST_FEED_H */
