#include "common/http/backoff.h"

/* A linear congruential step of which only the high bits are used: good enough for jitter. */
static uint32_t next_random(uint64_t *state)
{
	*state = *state * UINT64_C(6364136223846793005) + 1;
	return (uint32_t)(*state >> 32);
}

uint64_t backoff_next_ns(struct backoff *b)
{
	uint64_t cap = b->cap_ns ? b->cap_ns : b->min_ns;
	uint64_t half, delay;

	if (cap > b->max_ns)
		cap = b->max_ns;

	half = cap / 2;
	delay = cap - (uint64_t)((unsigned __int128)half * next_random(&b->random) >> 32);
	b->cap_ns = cap > b->max_ns / 2 ? b->max_ns : cap * 2;
	return delay;
}

void backoff_reset(struct backoff *b)
{
	b->cap_ns = 0;
}
