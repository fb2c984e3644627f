/* Memory of a process with records of Go's memory profiler in it; addresses are offsets. */
#ifndef TEST_LIB_HEAP_IMAGE_H
#define TEST_LIB_HEAP_IMAGE_H

#include <assert.h>

#include "node-agent/go/heap/heap_profile.h"

#define HEAP_IMAGE_BYTES 262144u
#define HEAP_IMAGE_TEXT 0x400000u /* where the code would be */
#define HEAP_IMAGE_HEAD 0x10u     /* address of the variable that points to the first record */

struct heap_image {
	_Alignas(8) uint8_t data[HEAP_IMAGE_BYTES];
	struct go_range text;
	struct go_bucket_format format;
	struct byte_source source;
};

static inline void heap_image_put(struct heap_image *im, uint64_t address, uint64_t word)
{
	assert(address + sizeof(word) <= sizeof(im->data));
	memcpy(im->data + address, &word, sizeof(word));
}

static inline void heap_image_init(struct heap_image *im, bool has_bytes)
{
	memset(im, 0, sizeof(*im));
	im->text = (struct go_range){HEAP_IMAGE_TEXT, HEAP_IMAGE_TEXT + 0x100000};
	im->format = (struct go_bucket_format){
		GO_BUCKET_MEMORY, heap_counts_words(has_bytes ? 26 : 27), &im->text, 1};
	byte_source_from_memory(&im->source, im->data, sizeof(im->data));
}

/* Counters of one cycle: 0 is active, 1 to 3 the future. */
static inline void heap_image_count(struct heap_image *im, uint64_t address, unsigned cycle,
				    struct heap_pair c)
{
	uint64_t size, n_stack, at;

	memcpy(&size, im->data + address + 32, sizeof(size));
	memcpy(&n_stack, im->data + address + 40, sizeof(n_stack));
	at = address + 48 + 8 * n_stack + cycle * (im->format.n_words == 16 ? 32u : 16u);
	heap_image_put(im, at, c.allocs);
	heap_image_put(im, at + 8, c.frees);
	if (im->format.n_words == 16) {
		heap_image_put(im, at + 16, c.allocs * size);
		heap_image_put(im, at + 24, c.frees * size);
	}
}

/* A record with a stack of n_stack frames, which differ by seed; counters are 0. */
static inline void heap_image_record(struct heap_image *im, uint64_t address, uint64_t next,
				     uint64_t size, unsigned n_stack, uint64_t seed)
{
	uint64_t stack[GO_BUCKET_STACK_MAX];

	assert(n_stack <= GO_BUCKET_STACK_MAX);
	for (unsigned i = 0; i < n_stack; i++) {
		stack[i] = HEAP_IMAGE_TEXT + 16 + seed * 64 + i;
		heap_image_put(im, address + 48 + 8 * i, stack[i]);
	}
	heap_image_put(im, address + 8, next);
	heap_image_put(im, address + 16, 1);
	heap_image_put(im, address + 24, go_bucket_hash(stack, n_stack, size));
	heap_image_put(im, address + 32, size);
	heap_image_put(im, address + 40, n_stack);
}

#endif /* TEST_LIB_HEAP_IMAGE_H */
