/*
 * What an answer to an upload means. Pure.
 *
 * Only an answer that is about the profile's content drops it. Everything else may be the fault of
 * the receiver, of what stands in front of it, or of our configuration: a rotated key, an ingress
 * that redirects, a path that is not served yet. Somebody will mend that, so the profile is kept.
 */
#ifndef COMMON_UPLOAD_UPLOAD_VERDICT_H
#define COMMON_UPLOAD_UPLOAD_VERDICT_H

#include "common/base.h"

enum upload_verdict {
	UPLOAD_ACCEPTED,
	UPLOAD_REFUSED, /* 400, 413, 415, 422: the receiver can never take this profile */
	UPLOAD_BUSY,    /* no answer, 429, 5xx: it may pass by itself */
	UPLOAD_BLOCKED, /* any other status: somebody has to mend something */
};

/* error and status are those of struct http_result. */
enum upload_verdict upload_verdict(int error, int status);

/*
 * Whether another profile might fare better: the receiver was reached, and did not say that it
 * refuses everybody at the moment.
 */
bool upload_verdict_may_differ(int error, int status);

/*
 * Whether the profile may have been accepted although the answer does not say so: the request may
 * have been sent, and no answer came, or one that a proxy makes when it has waited in vain.
 */
bool upload_verdict_is_in_doubt(int error, int status);

#define UPLOAD_REASON_BYTES 96u
/* "the API key is refused (401)": for the log. Only for BUSY and BLOCKED. */
void upload_verdict_reason(int error, int status, char ret[static UPLOAD_REASON_BYTES]);

#endif /* COMMON_UPLOAD_UPLOAD_VERDICT_H */
