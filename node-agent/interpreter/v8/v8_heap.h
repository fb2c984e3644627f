/*
 * Objects in V8's heap: words, types, strings. Pure but for what it reads of the process.
 *
 * A word is an object if its lowest bit is set; the bit above says that the reference is weak. Else
 * it is an integer in the upper half.
 */
#ifndef NODE_AGENT_INTERPRETER_V8_HEAP_H
#define NODE_AGENT_INTERPRETER_V8_HEAP_H

#include "node-agent/interpreter/interpreter_frame.h"
#include "node-agent/interpreter/v8_layout.h"

#define V8_TAGS UINT64_C(3)
#define V8_NO_TYPE UINT16_MAX
#define V8_READS_MAX 4096u /* of small pieces, for one name */

struct v8_heap {
	const struct v8_layout *layout;
	const struct interpreter_memory *memory;
	unsigned n_reads;
	bool is_gone; /* a read found that the process has exited */
};

static inline bool v8_is_object(uint64_t word)
{
	return (word & 1) != 0 && word >> 47 == 0 && word > 4096;
}

static inline bool v8_is_integer(uint64_t word)
{
	return (word & UINT32_MAX) == 0;
}

static inline int32_t v8_integer(uint64_t word)
{
	return (int32_t)(word >> 32);
}

/* Returns 0, -EBADMSG after too many reads, or an error of interpreter_read(). */
int v8_read(struct v8_heap *h, uint64_t at, void *to, size_t n) MUST_CHECK;

/* The word at an offset in an object; 0 if it cannot be read. */
uint64_t v8_word(struct v8_heap *h, uint64_t object, unsigned offset);

/* The type of an object; V8_NO_TYPE: it is none. */
uint16_t v8_type(struct v8_heap *h, uint64_t object);

bool v8_is_string_type(const struct v8_heap *h, uint16_t type);

/* Characters of a string that follow each other in memory. */
struct v8_text {
	uint64_t at;
	uint32_t length; /* characters */
	bool wide;       /* each has two bytes */
};

/* Finds those of a string. Returns 0, or -EBADMSG if it is none, or they are in several places. */
int v8_text_find(struct v8_heap *h, uint64_t string, struct v8_text *ret) MUST_CHECK;

/* Copies a string as UTF-8 without control characters, as much as fits. Results as above. */
int v8_string_read(struct v8_heap *h, uint64_t string, char *to, size_t cap) MUST_CHECK;

/* Of an array or a string of bytes: its length; 0 if it is none, or has more than max. */
uint32_t v8_length(struct v8_heap *h, uint64_t array, uint32_t max);

#define V8_ARRAY_LENGTH 8u
#define V8_ARRAY_DATA 16u

/* Numbers of a byte array, 7 bits a byte. */
struct v8_numbers {
	struct v8_heap *heap;
	uint64_t at;     /* of what is not in bytes yet */
	uint32_t n_left; /* bytes there */
	uint8_t bytes[256];
	uint32_t i, n; /* in bytes */
};

#define V8_NUMBERS_MAX (1u << 20) /* bytes */

void v8_numbers_begin(struct v8_numbers *n, struct v8_heap *h, uint64_t array);
/* Returns false at the end. */
bool v8_numbers_next(struct v8_numbers *n, uint64_t *ret);

static inline int64_t v8_signed(uint64_t number)
{
	return (int64_t)(number >> 1) ^ -(int64_t)(number & 1);
}

#endif /* NODE_AGENT_INTERPRETER_V8_HEAP_H */
