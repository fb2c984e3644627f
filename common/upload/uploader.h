/*
 * Profiles on their way to a receiver: POST with retry, oldest first, bounded.
 *
 * What is added waits in memory until the receiver has answered 2xx. When it cannot be reached or
 * asks to wait (429, 5xx), everything waits with it, with back-off and jitter; when the bounds are
 * reached the oldest profile is dropped. A 4xx concerns one profile only: it is dropped
 * and the next one sent. A 5xx may: that profile goes to the end of the queue, and is dropped when
 * it gets a 500 again and again while others are accepted. Whatever is dropped is counted by reason.
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
#include "common/upload/upload_url.h"

struct uploader;

struct uploader_config {
	const char *endpoint; /* full URL of the receiver's /v1/profiles */
	const char *api_key;  /* NULL: none */
	size_t max_items;
	size_t max_bytes; /* of all waiting bodies */
	unsigned
		max_sending; /* requests at the same time: a receiver that commits in groups answers
				 after a while, so one at a time would be slow */
	uint64_t timeout_ns;
	uint64_t retry_min_ns;
	uint64_t retry_max_ns;
};

/* client and loop are borrowed. -ENOMEM is the only failure. */
int uploader_new(struct uploader **ret, struct loop *l, struct http_client *client,
		 const struct uploader_config *cfg) MUST_CHECK;
/*
 * What still waits is lost and counted as reason="shutdown". The client must have been freed
 * before: it borrows the bodies. NULL is allowed.
 */
void uploader_free(struct uploader *u);
DEFINE_CLEANUP(struct uploader *, uploader_free);

/* Names begin with prefix, which must outlive ms. As metrics_register(). */
int uploader_register_metrics(struct uploader *u, const char *prefix,
			      struct metrics *ms) MUST_CHECK;

/*
 * Takes the content of body in every case. labels as for upload_url_make(). 0, -ENOMEM or -EFBIG;
 * a profile that cannot even be queued is counted as dropped too.
 */
int uploader_add(struct uploader *u, const struct upload_label *labels, struct buf *body);

/* Profiles waiting or under way. */
size_t uploader_pending(const struct uploader *u);

/* Try now, without waiting for the back-off to end: at shutdown. */
void uploader_hurry(struct uploader *u);

/* idle is called on the loop thread each time the last pending profile has been dealt with. */
void uploader_on_idle(struct uploader *u, loop_fn idle, void *ctx);

#endif /* COMMON_UPLOAD_UPLOADER_H */
