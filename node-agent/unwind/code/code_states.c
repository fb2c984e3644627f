#include "node-agent/unwind/code/code_states.h"

#define XXH_INLINE_ALL
#include <xxhash.h>

void code_states_reset(struct code_states *d)
{
	for (uint32_t i = CODE_UNKNOWN; i < d->n; i++)
		d->buckets[d->bucket_of[i]] = 0;
	d->n = CODE_UNKNOWN;
	code_states_number(d, &code_state_strange);
	code_states_number(d, &code_state_entry);
	code_states_number(d, &code_state_outermost);
	code_states_number(d, &code_state_signal);
}

uint16_t code_states_number(struct code_states *d, const struct code_state *s)
{
	size_t i = XXH3_64bits(s, sizeof(*s)) % ARRAY_SIZE(d->buckets);

	for (; d->buckets[i] != 0; i = (i + 1) % ARRAY_SIZE(d->buckets)) {
		if (memcmp(&d->states[d->buckets[i]], s, sizeof(*s)) == 0)
			return d->buckets[i];
	}
	if (d->n == CODE_STATES_MAX)
		return CODE_UNKNOWN;
	d->states[d->n] = *s;
	d->buckets[i] = (uint16_t)d->n;
	d->bucket_of[d->n] = (uint16_t)i;
	return (uint16_t)d->n++;
}
