#include "node-agent/heap/heap_bucket.h"

#include <errno.h>

#define TYPE_MEMORY 1u
#define TRIES 4
#define CYCLES 4u /* active and three of the future */
#define CYCLE_WORDS_MAX 4u

/* As it is in memory; the stack and the counters follow. */
struct header {
	uint64_t chain; /* of the runtime's own table */
	uint64_t next;
	uint64_t type;
	uint64_t hash;
	uint64_t size;
	uint64_t n_stack;
};

typedef int read_fn(struct memory_windows *w, uint64_t address, void *to, size_t len);

uint64_t heap_bucket_hash(const uint64_t *stack, size_t n, uint64_t size)
{
	uint64_t h = 0;

	for (size_t i = 0; i < n; i++) {
		h += stack[i];
		h += h << 10;
		h ^= h >> 6;
	}
	h += size;
	h += h << 10;
	h ^= h >> 6;
	h += h << 3;
	h ^= h >> 11;
	return h;
}

static bool is_text(const struct heap_bucket_format *f, uint64_t address)
{
	for (size_t i = 0; i < f->n_text; i++) {
		/* return addresses: behind a call, which may be the last instruction */
		if (address > f->text[i].start && address <= f->text[i].end)
			return true;
	}
	return false;
}

static bool is_plausible(const struct header *h)
{
	/* zeroed memory has the right hash for no stack and no size */
	return h->type == TYPE_MEMORY && h->hash != 0 && h->size > 0 &&
	       h->size < HEAP_BUCKET_SIZE_MAX && h->n_stack > 0 &&
	       h->n_stack <= HEAP_BUCKET_STACK_MAX && h->next % sizeof(uint64_t) == 0;
}

/* False when the numbers are of two moments: a garbage collection moves them meanwhile. */
static bool decode_counts(const struct heap_bucket_format *f, const uint64_t *words, uint64_t size,
			  struct heap_bucket *ret)
{
	size_t per_cycle = f->has_bytes ? CYCLE_WORDS_MAX : 2;

	ret->future = (struct heap_counts){0};
	for (size_t i = 0; i < CYCLES; i++) {
		const uint64_t *c = words + i * per_cycle;

		if (f->has_bytes && (c[2] != c[0] * size || c[3] != c[1] * size))
			return false;
		if (i == 0) {
			ret->active = (struct heap_counts){c[0], c[1]};
		} else {
			ret->future.allocs += c[0];
			ret->future.frees += c[1];
		}
	}
	return ret->active.frees <= ret->active.allocs &&
	       ret->active.frees + ret->future.frees <= ret->active.allocs + ret->future.allocs;
}

static int read_with(read_fn *read, struct memory_windows *w, const struct heap_bucket_format *f,
		     uint64_t address, struct heap_bucket *ret)
{
	size_t counts_len = CYCLES * (f->has_bytes ? 4 : 2) * sizeof(uint64_t);
	uint64_t words[CYCLES * CYCLE_WORDS_MAX];
	size_t stack_len;
	struct header h;
	int r;

	r = read(w, address, &h, sizeof(h));
	if (r < 0)
		return r;
	if (!is_plausible(&h))
		return -EBADMSG;
	stack_len = (size_t)h.n_stack * sizeof(*ret->stack);
	r = read(w, address + sizeof(h), ret->stack, stack_len);
	if (r < 0)
		return r;
	if (!is_text(f, ret->stack[0]) ||
	    heap_bucket_hash(ret->stack, (size_t)h.n_stack, h.size) != h.hash)
		return -EBADMSG;
	r = read(w, address + sizeof(h) + stack_len, words, counts_len);
	if (r < 0)
		return r;
	ret->next = h.next;
	ret->size = h.size;
	ret->n_stack = (uint32_t)h.n_stack;
	return decode_counts(f, words, h.size, ret) ? 0 : -EAGAIN;
}

int heap_bucket_read(struct memory_windows *w, const struct heap_bucket_format *f, uint64_t address,
		     struct heap_bucket *ret)
{
	int r;

	if (address % sizeof(uint64_t) != 0)
		return -EBADMSG;
	r = read_with(memory_windows_read, w, f, address, ret);
	/* what was read in passing may be of a moment before the record was filled */
	if (r == -EBADMSG)
		r = read_with(memory_windows_read_now, w, f, address, ret);
	for (int i = 0; r == -EAGAIN && i < TRIES; i++)
		r = read_with(memory_windows_read_now, w, f, address, ret);
	return r;
}
