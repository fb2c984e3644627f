/* What uploader.c (sending) and uploader_store.c (the spool) share. Private to this folder. */
#ifndef COMMON_UPLOAD_UPLOADER_STATE_H
#define COMMON_UPLOAD_UPLOADER_STATE_H

#include <stdatomic.h>

#include "common/base.h"
#include "common/http/backoff.h"
#include "common/upload/receiver_clock.h"
#include "common/upload/upload_queue.h"
#include "common/upload/upload_spool.h"
#include "common/upload/upload_verdict.h"
#include "common/upload/uploader.h"

enum uploader_metric {
	UPLOADED,
	UPLOADED_BYTES,
	RETRIES,
	DROPPED_QUEUE_FULL,
	DROPPED_REJECTED,
	DROPPED_SHUTDOWN,
	DROPPED_UNQUEUED,
	DROPPED_SPOOL_FULL,
	DROPPED_SPOOL_DAMAGED,
	QUEUE_ITEMS,
	QUEUE_BYTES,
	SPOOL_USABLE,
	SPOOL_BYTES,
	SPOOL_MAX_BYTES,
	SPOOL_PROFILES,
	SPOOL_OLDEST,
	SPOOL_ERRORS,
	CLOCK_AHEAD,
	CLOCK_BEHIND,
	CORRECTED,
	UPLOADER_METRIC_MAX,
};

struct uploader {
	struct http_client *client; /* borrowed; NULL: nothing is sent any more */
	/* of uploader.c: sends more, and tells the owner if nothing is left */
	void (*go_on)(struct uploader *u);
	struct loop_source *retry_timer;
	char *endpoint;
	struct sent_key *key;               /* borrowed; NULL if there is none */
	const struct upload_format *format; /* borrowed; NULL: pprof */
	unsigned max_sending;
	uint64_t timeout_ns;
	struct backoff backoff;
	uint64_t retry_max_ns;
	uint64_t slow_retry_max_ns;
	uint64_t fault_every_ns;

	struct upload_queue queue;   /* new profiles */
	struct upload_queue backlog; /* profiles taken out of the spool */
	unsigned n_sending;          /* of both */
	unsigned n_sending_backlog;
	unsigned window;         /* requests at the same time */
	unsigned backlog_window; /* likewise, for the backlog */
	unsigned n_backlog_sent; /* since backlog_window has grown */
	bool waiting;            /* the retry timer is set: nothing is sent */
	bool down;               /* the last request failed */
	bool is_stopping;
	bool has_no_clock; /* the receiver's last answer had no usable "Date" */
	/* why it is down, as of the last log line: UPLOAD_BUSY, or UPLOAD_BLOCKED with a status */
	enum upload_verdict down_verdict;
	int down_status;

	/* of uploader_clock.c */
	uint64_t boot; /* which one this is; 0 if unknown */
	struct receiver_clock clock;
	uint64_t hold_until_ns;  /* monotonic: the clock is about to be measured; 0: go on */
	uint64_t skew_logged_ns; /* monotonic */
	_Atomic int64_t skew_ns; /* of our clock, for the metric */

	/* of uploader_store.c */
	struct upload_spool *spool; /* NULL: none */
	struct spool_state spool_state;
	struct loop_source *store_timer;
	uint64_t store_after_ns;
	uint64_t disk_pause_ns;
	uint64_t no_store_until_ns; /* monotonic: since the last attempt failed */
	uint64_t no_load_until_ns;
	bool store_failed; /* the last write: one profile at a time is tried */
	size_t storing_bytes;
	bool is_loading;
	uint64_t close_ns; /* to wait for the disk at the end; 0: the default */
	_Atomic uint64_t oldest_created_ns;
	_Atomic bool is_losing;

	void (*on_note)(void *ctx, const char *text); /* NULL: nobody wants it */
	void *note_ctx;

	upload_receipt_fn *on_receipt;
	void *receipt_ctx;

	loop_fn idle;
	void *idle_ctx;
	struct metric metrics[UPLOADER_METRIC_MAX];
};

/* ---- uploader_state.c ---- */

/* Takes up out of memory. */
void uploader_forget(struct uploader *u, struct upload *up);
void uploader_show_queue(struct uploader *u);

/* ---- uploader_clock.c ---- */

uint64_t uploader_read_boot(void);
/* How the clocks stand, for a profile that is made now. */
void uploader_stamp(const struct uploader *u, struct upload_clock *ret);
/* Whether the receiver's clock is unknown, and an answer may show it. */
bool uploader_must_measure(const struct uploader *u);
/*
 * Returns 1 and the item's body with its time corrected, 0 if that is not needed, or -ENOMEM. out
 * is empty before.
 */
int uploader_correct(const struct uploader *u, const struct upload_item *item,
		     struct buf *out) MUST_CHECK;

#define UPLOADER_CLOCK_HEADER_BYTES 48u
/* "Clock-Skew: 7200"; "" while our clock is right. */
void uploader_clock_header(const struct uploader *u, char ret[static UPLOADER_CLOCK_HEADER_BYTES]);

/* ---- uploader_store.c ---- */

int uploader_store_init(struct uploader *u, struct loop *l,
			const struct uploader_config *cfg) MUST_CHECK;
/* What is still in memory only is written, if the disk takes it in time. */
void uploader_store_fini(struct uploader *u);

/* After a profile was added: it may have to be written. */
void uploader_store_added(struct uploader *u, struct upload *up);
/* Writes new profiles that have waited for min_age_ns, as far as there is room. */
void uploader_store_waiting(struct uploader *u, uint64_t min_age_ns);
/* The same for all of them, because the end is near. */
void uploader_store_all(struct uploader *u);
/* Reads more of the backlog if there is room to send it. */
void uploader_load_more(struct uploader *u);
/* The profile was accepted or dropped: the spool must not keep it. */
void uploader_retire(struct uploader *u, struct upload *up);
/* The attempt failed. A new profile that is on disk by now leaves the memory. */
void uploader_keep(struct uploader *u, struct upload *up);
void uploader_show_losing(struct uploader *u, bool queue_dropped);

#endif /* COMMON_UPLOAD_UPLOADER_STATE_H */
