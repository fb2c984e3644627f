/* Delays between retries: doubling, with full jitter, between a floor and a ceiling. Pure. */
#ifndef COMMON_HTTP_BACKOFF_H
#define COMMON_HTTP_BACKOFF_H

#include "common/base.h"

struct backoff {
	uint64_t min_ns;
	uint64_t max_ns;
	uint64_t cap_ns; /* of the next delay; 0: start over */
	uint64_t random; /* state of the jitter; any seed */
};

/* Somewhere in [cap/2, cap]; cap doubles from min_ns up to max_ns with each call. */
uint64_t backoff_next_ns(struct backoff *b);
void backoff_reset(struct backoff *b);

#endif /* COMMON_HTTP_BACKOFF_H */
