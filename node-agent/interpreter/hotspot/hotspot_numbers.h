/*
 * Numbers that HotSpot has compressed, in the memory of a process: one to five bytes, of which each
 * but the last is at least 192. Pure. Reads no more than what it is told to.
 */
#ifndef NODE_AGENT_INTERPRETER_HOTSPOT_NUMBERS_H
#define NODE_AGENT_INTERPRETER_HOTSPOT_NUMBERS_H

#include "node-agent/interpreter/interpreter_frame.h"

#define HOTSPOT_NUMBERS_BYTES 128u

struct hotspot_numbers {
	const struct interpreter_memory *memory;
	uint64_t at;  /* of what is read next */
	uint64_t end; /* exclusive */
	uint8_t excess;
	int error;        /* of interpreter_read(), or -ENODATA behind the end; then all is 0 */
	uint32_t n, next; /* in bytes */
	uint8_t bytes[HOTSPOT_NUMBERS_BYTES];
};

/* memory is borrowed. excess is what each byte is too large by: 1 since JDK 19, else 0. */
void hotspot_numbers_begin(struct hotspot_numbers *s, const struct interpreter_memory *memory,
			   uint64_t at, uint64_t end, uint8_t excess);

uint8_t hotspot_numbers_byte(struct hotspot_numbers *s);
uint32_t hotspot_numbers_read(struct hotspot_numbers *s);
int32_t hotspot_numbers_read_signed(struct hotspot_numbers *s);

#endif /* NODE_AGENT_INTERPRETER_HOTSPOT_NUMBERS_H */
