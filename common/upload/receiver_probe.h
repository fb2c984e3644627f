/*
 * Asks the receiver of profiles how it wishes them to be (receiver_wishes.h): a GET on the
 * address that they are posted to. It is repeated until the receiver answers, and every few
 * minutes after that, since another receiver may have taken its place. If our own receiver
 * seems to have been replaced, that is believed when the next answer, seconds later, agrees. A
 * server that has answered with nothing but errors a few times is taken for a foreign one, until
 * it says otherwise: it may take uploads all the same.
 *
 * The uploader's spool keeps the last answer of each endpoint. It is believed until the receiver
 * answers, so that an agent that starts during an outage need not wait for names. Once an answer is
 * known, one that refuses the key says nothing about the receiver.
 *
 * Loop thread only.
 */
#ifndef COMMON_UPLOAD_RECEIVER_PROBE_H
#define COMMON_UPLOAD_RECEIVER_PROBE_H

#include "common/base.h"
#include "common/http/http.h"
#include "common/upload/receiver_wishes.h"
#include "common/upload/uploader.h"

struct receiver_probe;
struct sent_key;

struct receiver_probe_config {
	const char *endpoint;      /* copied */
	struct sent_key *key;      /* borrowed; NULL if there is none */
	struct uploader *uploader; /* borrowed; keeps the answer; NULL: it is not kept */
	/* Called with every answer, and with the one that was kept. */
	void (*on_answer)(void *ctx, const struct receiver_wishes *w);
	void *ctx;
	uint64_t confirm_ns; /* until an answer that is doubted is asked for again; 0: 5 s */
};

/*
 * Begins at the loop's next turn. l and client are borrowed; the client is freed later. Returns
 * 0, -ENOMEM, or -EMFILE and the like.
 */
int receiver_probe_new(struct receiver_probe **ret, struct loop *l, struct http_client *client,
		       const struct receiver_probe_config *cfg) MUST_CHECK;
/* NULL is allowed. */
void receiver_probe_free(struct receiver_probe *p);
DEFINE_CLEANUP(struct receiver_probe *, receiver_probe_free);

/* Asks now: the receiver was away, and may have been replaced. NULL is allowed. */
void receiver_probe_hurry(struct receiver_probe *p);

/*
 * Whether an answer says something about the receiver, and what. An answer of no HTTP server, of
 * an overloaded one or of a proxy that cannot reach it says nothing: false. Pure.
 */
bool receiver_probe_read(const struct http_result *res, struct receiver_wishes *ret);

#endif /* COMMON_UPLOAD_RECEIVER_PROBE_H */
