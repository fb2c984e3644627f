/* Delays between retries: they double between a floor and a ceiling, with jitter. Pure. */
#ifndef COMMON_HTTP_BACKOFF_H
#define COMMON_HTTP_BACKOFF_H

#include "common/base.h"

struct backoff {
	uint64_t min_ns;
	uint64_t max_ns;
	uint64_t cap_ns; /* upper bound of the next delay; 0 starts over */
	uint64_t random; /* state of the jitter; any seed will do */
};

/* Returns a delay in [cap/2, cap]; cap doubles from min_ns to max_ns with each call. */
uint64_t backoff_next_ns(struct backoff *b);
void backoff_reset(struct backoff *b);

#endif /* COMMON_HTTP_BACKOFF_H */
