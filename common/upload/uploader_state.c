/* What an uploader shows of itself, and how a profile leaves its memory. */
#include "common/upload/uploader_state.h"

#include "common/system/clock.h"

#define DROPPED(reason)                                     \
	"_profiles_dropped_total", "reason=\"" reason "\"", \
		"Profiles lost after they were made, by reason"

/* 0 if the clock was set back. */
static uint64_t read_oldest_age(void *ctx)
{
	struct uploader *u = ctx;
	uint64_t created_ns = atomic_load(&u->oldest_created_ns), now_ns = clock_realtime_ns();

	return created_ns > 0 && now_ns > created_ns ? now_ns - created_ns : 0;
}

static uint64_t read_clock_ahead(void *ctx)
{
	struct uploader *u = ctx;
	int64_t skew_ns = atomic_load(&u->skew_ns);

	return skew_ns > 0 ? (uint64_t)skew_ns : 0;
}

static uint64_t read_clock_behind(void *ctx)
{
	struct uploader *u = ctx;
	int64_t skew_ns = atomic_load(&u->skew_ns);

	return skew_ns < 0 ? -(uint64_t)skew_ns : 0;
}

static const struct metric_def metric_defs[UPLOADER_METRIC_MAX] = {
	[UPLOADED] = {"_profiles_uploaded_total", NULL, "Profiles that the receiver accepted"},
	[UPLOADED_BYTES] = {"_profiles_uploaded_bytes_total", NULL,
			    "Compressed bytes of the profiles that the receiver accepted"},
	[RETRIES] = {"_profile_upload_retries_total", NULL,
		     "Uploads that failed and are retried later"},
	[DROPPED_QUEUE_FULL] = {DROPPED("queue_full")},
	[DROPPED_REJECTED] = {DROPPED("rejected")},
	[DROPPED_SHUTDOWN] = {DROPPED("shutdown")},
	[DROPPED_UNQUEUED] = {DROPPED("unqueued")},
	[DROPPED_SPOOL_FULL] = {DROPPED("spool_full")},
	[DROPPED_SPOOL_DAMAGED] = {DROPPED("spool_damaged")},
	[QUEUE_ITEMS] = {"_upload_queue_profiles", NULL, "Profiles waiting for the receiver",
			 METRIC_GAUGE},
	[QUEUE_BYTES] = {"_upload_queue_bytes", NULL,
			 "Compressed bytes of the profiles waiting for the receiver", METRIC_GAUGE},
	[SPOOL_USABLE] = {"_upload_spool_usable", NULL,
			  "1 if profiles can wait on disk, 0 if in memory only", METRIC_GAUGE},
	[SPOOL_BYTES] = {"_upload_spool_bytes", NULL, "Bytes of the spool's files", METRIC_GAUGE},
	[SPOOL_MAX_BYTES] = {"_upload_spool_max_bytes", NULL,
			     "Bytes above which the spool drops its oldest profiles", METRIC_GAUGE},
	[SPOOL_PROFILES] = {"_upload_spool_profiles", NULL, "Profiles waiting on disk",
			    METRIC_GAUGE},
	[SPOOL_OLDEST] = {"_upload_spool_oldest_age_seconds", NULL,
			  "Age of the oldest profile waiting on disk", METRIC_GAUGE, 1e-9,
			  read_oldest_age},
	[SPOOL_ERRORS] = {"_upload_spool_errors_total", NULL,
			  "Reads and writes of the spool's files that failed"},
	[CLOCK_AHEAD] = {"_clock_ahead_seconds", NULL,
			 "How far this host's clock is ahead of the receiver's; 0 below 2 s",
			 METRIC_GAUGE, 1e-9, read_clock_ahead},
	[CLOCK_BEHIND] = {"_clock_behind_seconds", NULL,
			  "How far this host's clock is behind the receiver's; 0 below 2 s",
			  METRIC_GAUGE, 1e-9, read_clock_behind},
	[CORRECTED] = {"_profiles_clock_corrected_total", NULL,
		       "Uploaded profiles that got another time than that of this host's clock"},
};
METRIC_TABLE(metric_table, metric_defs);

void uploader_show_queue(struct uploader *u)
{
	metric_set(&u->metrics[QUEUE_ITEMS], u->queue.n_items);
	metric_set(&u->metrics[QUEUE_BYTES], u->queue.n_bytes);
}

void uploader_forget(struct uploader *u, struct upload *up)
{
	upload_queue_remove(up->is_backlog ? &u->backlog : &u->queue, up);
	uploader_show_queue(u);
}

int uploader_register_metrics(struct uploader *u, const char *prefix, struct metrics *ms)
{
	return metrics_register_as(ms, prefix, &metric_table, u->metrics, u);
}
