/*
 * Sends profiles to a receiver: POST with retry, oldest first, bounded in memory and on disk.
 *
 * A profile waits until the receiver has answered 2xx. Only 400, 413, 415 and 422 drop it at once
 * (upload_verdict.h). With any other answer, or without one, all profiles wait, with back-off and
 * jitter: up to retry_max_ns, or slow_retry_max_ns if somebody has to mend something, such as a key
 * that is refused. A profile that gets a 500 time and again while others are accepted is dropped
 * after half an hour.
 *
 * Profiles that are not accepted soon are written to the spool, a directory, and survive the end of
 * the process there. At the bounds of the spool, or without one those of the memory, the oldest
 * profiles are dropped. Dropped profiles are counted by reason.
 *
 * Every attempt of a profile has the same key (upload_item.h), by which a receiver that stored it
 * but could not answer recognises it. If an earlier attempt may have been accepted, the request
 * says so: it may come to another receiver of the same store.
 *
 * Times of profiles are corrected by the receiver's clock if this host's is wrong
 * (uploader_clock.c).
 *
 * Loop thread only.
 */
#ifndef COMMON_UPLOAD_UPLOADER_H
#define COMMON_UPLOAD_UPLOADER_H

#include "common/base.h"
#include "common/data/buf.h"
#include "common/http/http.h"
#include "common/system/loop.h"
#include "common/telemetry/metrics.h"
#include "common/upload/upload_receipt.h"
#include "common/upload/upload_url.h"

struct sent_key;
struct upload_format;
struct uploader;

struct uploader_config {
	const char *endpoint;               /* full URL of the receiver's /v1/profiles */
	struct sent_key *key;               /* borrowed; NULL if there is none */
	const struct upload_format *format; /* borrowed; NULL: pprofs are sent as they are */
	size_t max_items;
	size_t max_bytes; /* of all waiting bodies */
	/*
	 * Requests at the same time. A receiver that commits uploads in groups answers after a
	 * while, so one by one would be slow.
	 */
	unsigned max_sending;
	uint64_t timeout_ns;
	uint64_t retry_min_ns;
	uint64_t retry_max_ns;
	uint64_t slow_retry_max_ns; /* while something has to be mended; 0: 5 min */
	uint64_t fault_every_ns;    /* see uploader.c; 0: 3 min */
	const char *spool_dir;      /* NULL or "": profiles wait in memory only */
	uint64_t spool_max_bytes;
	uint64_t store_after_ns; /* a profile not accepted by then is written; 0: 5 s */
	uint64_t disk_pause_ns;  /* after a write or read of the spool that failed; 0: 10 s */
};

/* client and loop are borrowed. Returns 0, -ENOMEM, or -EMFILE and the like. */
int uploader_new(struct uploader **ret, struct loop *l, struct http_client *client,
		 const struct uploader_config *cfg) MUST_CHECK;
/*
 * Profiles that still wait are written to the spool; waits two seconds for the disk. Others are
 * lost, and counted as reason="shutdown". The client must be freed before, since it borrows the
 * bodies. NULL is allowed.
 */
void uploader_free(struct uploader *u);
/* How long uploader_free() waits for the disk, instead of two seconds. */
void uploader_set_close_time(struct uploader *u, uint64_t ns);
DEFINE_CLEANUP(struct uploader *, uploader_free);

/* Names begin with prefix, which must outlive ms. As metrics_register(). */
int uploader_register_metrics(struct uploader *u, const char *prefix,
			      struct metrics *ms) MUST_CHECK;

/*
 * Takes the content of body in every case. labels as for upload_url_make(). Returns 0, -ENOMEM or
 * -EFBIG; a profile that cannot be queued is counted as dropped.
 */
int uploader_add(struct uploader *u, const struct upload_label *labels, struct buf *body);

/* The same for a profile of which uploader_on_receipt()'s function hears under that number. */
int uploader_add_numbered(struct uploader *u, uint64_t number, const struct upload_label *labels,
			  struct buf *body);
void uploader_on_receipt(struct uploader *u, upload_receipt_fn *fn, void *ctx);

/* Profiles in memory and on disk. */
size_t uploader_waiting(const struct uploader *u);
/* Profiles that only the memory has, or that are being sent. */
size_t uploader_pending(const struct uploader *u);

/*
 * An answer of the receiver to a request of somebody else's, which was sent sent_ns after boot: its
 * "Date" is one more measurement of the receiver's clock.
 */
void uploader_note_answer(struct uploader *u, const struct http_result *res, uint64_t sent_ns);
/* Sends nothing before the next answer is noted, for ns at most: somebody is asking right now. */
void uploader_hold(struct uploader *u, uint64_t ns);

/* Whether the last request failed: the receiver cannot be reached, or asked to wait. */
bool uploader_is_down(const struct uploader *u);

/*
 * What is wrong if profiles are being dropped because the receiver is down for too long; NULL if
 * nothing is. A static text. From any thread.
 */
const char *uploader_problem(const struct uploader *u);

/*
 * For the shutdown: retries now instead of after the back-off, and writes to the spool what waits.
 */
void uploader_hurry(struct uploader *u);

/* idle is called on the loop thread whenever the last pending profile was sent or dropped. */
void uploader_on_idle(struct uploader *u, loop_fn idle, void *ctx);

/*
 * The note: a text of less than a kilobyte that the spool's directory keeps for each endpoint. If
 * there is one, on_text is called with it soon after the start. Without a spool both do nothing. To
 * write the note that is there costs nothing; repeat it now and then, since the disk may fail.
 */
void uploader_on_note(struct uploader *u, void (*on_text)(void *ctx, const char *text), void *ctx);
void uploader_write_note(struct uploader *u, const char *text);

#endif /* COMMON_UPLOAD_UPLOADER_H */
