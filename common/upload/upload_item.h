/*
 * A profile on its way to the receiver: its key, its labels and its pprof. Immutable but for
 * is_in_doubt, so that it can be sent and written to disk at the same time; freed with the last
 * reference.
 */
#ifndef COMMON_UPLOAD_UPLOAD_ITEM_H
#define COMMON_UPLOAD_UPLOAD_ITEM_H

#include <stdatomic.h>

#include "common/base.h"
#include "common/data/buf.h"

/*
 * The key of an upload: 128 random bits as 32 hex digits. It is made once, when a profile is
 * queued, and sent with every attempt as "Idempotency-Key"
 * (draft-ietf-httpapi-idempotency-key-header), so that a receiver recognises a profile that it has
 * stored before.
 */

#define UPLOAD_KEY_DIGITS 32u

struct upload_key {
	char text[UPLOAD_KEY_DIGITS + 1];
};

/* Thread-safe. Cannot fail: see upload_item.c for when the system has no random bits yet. */
void upload_key_make(struct upload_key *ret);

/* Whether text is a key: 32 lower-case hex digits. Pure. */
bool upload_key_is_valid(const char *text, size_t len);

/* How the host's wall clock stood when the profile was made: receiver_clock.h. */
struct upload_clock {
	int64_t own_ns;        /* what the wall clock showed at boot */
	uint64_t boot;         /* which boot; 0 if unknown */
	int64_t correction_ns; /* to be added to the profile's time, if is_measured */
	bool is_measured;      /* the receiver's clock was known */
};

/*
 * Sent with an attempt if an earlier one may have been accepted: "Idempotency-Repeat: 1". A
 * receiver that shares its store with others must then find out whether one of them has the
 * profile.
 */
#define UPLOAD_REPEAT_HEADER "Idempotency-Repeat"

struct upload_item {
	_Atomic unsigned n_refs;
	struct upload_key key;
	uint64_t created_ns; /* since the Unix epoch; 0 if unknown */
	struct upload_clock clock;
	/* The outcome of an attempt is not known: it is under way, or its answer was lost. */
	_Atomic bool is_in_doubt;
	uint64_t receipt; /* upload_receipt.h; 0 if it was read from the disk */
	char *query;      /* labels, as upload_url_query() makes them */
	char *body;
	size_t body_len;
};

/*
 * Takes query and body (from malloc(3)) on success. Returns NULL without memory. The caller has the
 * first reference.
 */
struct upload_item *upload_item_new(const struct upload_key *key, uint64_t created_ns, char *query,
				    char *body, size_t body_len);

struct upload_item *upload_item_ref(struct upload_item *i);
/* NULL is allowed. */
void upload_item_unref(struct upload_item *i);
DEFINE_CLEANUP(struct upload_item *, upload_item_unref);

/* What the profile counts in a limit of memory. */
static inline size_t upload_item_bytes(const struct upload_item *i)
{
	return i->body_len;
}

#define UPLOAD_SERVICE_BYTES 128u
/* The value of the label service.name, for log lines; "" if there is none; cut to fit. */
void upload_item_service(const struct upload_item *i, char ret[static UPLOAD_SERVICE_BYTES]);

#endif /* COMMON_UPLOAD_UPLOAD_ITEM_H */
