#include "node-agent/interpreter/hotspot/hotspot_numbers.h"

#include <errno.h>

#define LOW_CODES 192u /* of them, each says that it is the last byte */
#define HIGH_BITS 6u
#define NUMBER_BYTES 5u
#define PAGE_BYTES 4096u /* what follows may not be mapped */

void hotspot_numbers_begin(struct hotspot_numbers *s, const struct interpreter_memory *memory,
			   uint64_t at, uint64_t end, uint8_t excess)
{
	s->memory = memory;
	s->at = at;
	s->end = end;
	s->excess = excess;
	s->error = 0;
	s->n = s->next = 0;
}

static int fill(struct hotspot_numbers *s)
{
	uint64_t n = PAGE_BYTES - s->at % PAGE_BYTES;
	int r;

	if (s->at >= s->end)
		return -ENODATA;
	if (n > s->end - s->at)
		n = s->end - s->at;
	if (n > sizeof(s->bytes))
		n = sizeof(s->bytes);
	r = interpreter_read(s->memory, s->at, s->bytes, (size_t)n);
	if (r < 0)
		return r;
	s->at += n;
	s->n = (uint32_t)n;
	s->next = 0;
	return 0;
}

uint8_t hotspot_numbers_byte(struct hotspot_numbers *s)
{
	if (s->error == 0 && s->next == s->n)
		s->error = fill(s);
	return s->error == 0 ? s->bytes[s->next++] : 0;
}

uint32_t hotspot_numbers_read(struct hotspot_numbers *s)
{
	uint32_t sum = 0;

	for (uint32_t i = 0; i < NUMBER_BYTES; i++) {
		uint32_t byte = hotspot_numbers_byte(s);

		sum += (byte - s->excess) << i * HIGH_BITS;
		if (byte < LOW_CODES)
			break;
	}
	return s->error == 0 ? sum : 0;
}

int32_t hotspot_numbers_read_signed(struct hotspot_numbers *s)
{
	uint32_t number = hotspot_numbers_read(s);

	return (int32_t)(number >> 1 ^ (0 - (number & 1)));
}
