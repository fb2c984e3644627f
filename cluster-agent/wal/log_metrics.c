#include "cluster-agent/wal/log_state.h"
#include "common/system/clock.h"

static uint64_t read_bytes(void *ctx)
{
	struct upload_log_state s;

	upload_log_state(ctx, &s);
	return s.n_bytes;
}

static uint64_t read_oldest_ns(void *ctx)
{
	struct upload_log_state s;

	upload_log_state(ctx, &s);
	return s.oldest_age_ns;
}

static uint64_t read_segments(void *ctx)
{
	struct upload_log *l = ctx;
	uint64_t n = 0;

	pthread_mutex_lock(&l->lock);
	for (const struct log_segment *s = l->closed; s; s = s->next)
		n++;
	if (l->current && l->current->n_records > 0)
		n++;
	pthread_mutex_unlock(&l->lock);
	return n;
}

static uint64_t read_queued_bytes(void *ctx)
{
	struct upload_log *l = ctx;
	uint64_t n;

	pthread_mutex_lock(&l->lock);
	n = l->n_queued_bytes;
	pthread_mutex_unlock(&l->lock);
	return n;
}

static uint64_t read_ids(void *ctx)
{
	struct upload_log *l = ctx;
	uint64_t n;

	pthread_mutex_lock(&l->lock);
	n = id_set_count(l->durable);
	pthread_mutex_unlock(&l->lock);
	return n;
}

static uint64_t read_forgotten_ids(void *ctx)
{
	struct upload_log *l = ctx;
	uint64_t n;

	pthread_mutex_lock(&l->lock);
	n = id_set_forgotten(l->durable);
	pthread_mutex_unlock(&l->lock);
	return n;
}

#define WAL "coroot_cluster_agent_wal_"
#define FAILED WAL "failed_total", .help = "Uploads that could not be written to the log, by reason"
#define REFUSED WAL "refused_total", .help = "Uploads that the log did not take, by reason"

static const struct metric_def metric_defs[LOG_METRIC_MAX] = {
	[LOG_APPENDS] = {.name = WAL "appends_total", .help = "Uploads written to the log"},
	[LOG_APPENDED_BYTES] = {.name = WAL "appended_bytes_total",
				.help = "Bytes written to the log"},
	[LOG_REPETITIONS] = {.name = WAL "repetitions_total",
			     .help = "Uploads that the log had already; they are not stored again"},
	[LOG_FAILED_SPACE] = {.name = FAILED, .labels = "reason=\"no_space\""},
	[LOG_FAILED_IO] = {.name = FAILED, .labels = "reason=\"io\""},
	[LOG_REFUSED_FULL] = {.name = REFUSED, .labels = "reason=\"full\""},
	[LOG_REFUSED_QUEUE] = {.name = REFUSED, .labels = "reason=\"slow_disk\""},
	[LOG_REFUSED_DISK_FULL] = {.name = REFUSED, .labels = "reason=\"no_space\""},
	[LOG_REFUSED_TOO_LARGE] = {.name = REFUSED, .labels = "reason=\"too_large\""},
	[LOG_SYNCS] = {.name = WAL "syncs_total", .help = "Calls of fdatasync for the log"},
	[LOG_SYNC_NS] = {.name = WAL "sync_seconds_total",
			 .help = "Time spent in fdatasync for the log",
			 .scale = 1e-9},
	[LOG_COMMITS] = {.name = WAL "commits_total",
			 .help = "Segments that were stored and removed from the log"},
	[LOG_RECOVERED] = {.name = WAL "recovered_total",
			   .help = "Uploads that an earlier process left in the log"},
	[LOG_TORN_BYTES] = {.name = WAL "torn_bytes_total",
			    .help = "Bytes of unfinished writes, found at the start"},
	[LOG_DAMAGED_SEGMENTS] = {.name = WAL "damaged_segments_total",
				  .help = "Segments of which not all could be read"},
	[LOG_LOST_RECORDS] = {.name = WAL "lost_records_total",
			      .help = "Places of damaged segments that cannot be read; each is at "
				      "least one upload"},
	[LOG_DAMAGED_IDS] = {.name = WAL "damaged_ids_total",
			     .help = "Places of files with ids that cannot be read"},
	[LOG_REFUSED_RECORDS] = {.name = WAL "refused_records_total",
				 .help = "Uploads of the log that the store refused"},
	[LOG_KEPT_ASIDE_DELETED] = {.name = WAL "kept_aside_deleted_total",
				    .help = "Files .damaged and .refused that were deleted, as "
					    "there were too many"},
	[LOG_BYTES] = {.name = WAL "bytes",
		       .help = "Bytes of uploads that are not stored yet",
		       .kind = METRIC_GAUGE,
		       .read = read_bytes},
	[LOG_SEGMENTS] = {.name = WAL "segments",
			  .help = "Segments with uploads that are not stored yet",
			  .kind = METRIC_GAUGE,
			  .read = read_segments},
	[LOG_OLDEST_NS] = {.name = WAL "oldest_seconds",
			   .help = "Age of the oldest upload that is not stored yet",
			   .kind = METRIC_GAUGE,
			   .scale = 1e-9,
			   .read = read_oldest_ns},
	[LOG_QUEUED_BYTES] = {.name = WAL "queued_bytes",
			      .help = "Bytes of uploads that wait for the disk",
			      .kind = METRIC_GAUGE,
			      .read = read_queued_bytes},
	[LOG_IDS] = {.name = WAL "ids",
		     .help = "Remembered ids of uploads",
		     .kind = METRIC_GAUGE,
		     .read = read_ids},
	[LOG_FORGOTTEN_IDS] = {.name = WAL "forgotten_ids_total",
			       .help = "Ids that were forgotten for newer ones",
			       .read = read_forgotten_ids},
};
METRIC_TABLE(metric_table, metric_defs);

int upload_log_register(struct upload_log *l, struct metrics *ms)
{
	return metrics_register(ms, &metric_table, l->metrics, l);
}
