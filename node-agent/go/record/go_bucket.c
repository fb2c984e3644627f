#include "node-agent/go/record/go_bucket.h"

#include <errno.h>

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

uint64_t go_bucket_hash(const uint64_t *stack, size_t n, uint64_t size)
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

static bool is_text(const struct go_bucket_format *f, uint64_t address)
{
	for (size_t i = 0; i < f->n_text; i++) {
		/* return addresses: behind a call, which may be the last instruction */
		if (address > f->text[i].start && address <= f->text[i].end)
			return true;
	}
	return false;
}

static bool is_plausible(const struct header *h, enum go_bucket_type type)
{
	if (h->type != (uint64_t)type || h->n_stack > GO_BUCKET_STACK_MAX ||
	    h->next % sizeof(uint64_t) != 0)
		return false;
	if (type != GO_BUCKET_MEMORY)
		return h->size == 0;
	/* zeroed memory has the right hash for no stack and no size */
	return h->hash != 0 && h->n_stack > 0 && h->size > 0 && h->size < GO_BUCKET_SIZE_MAX;
}

/* Where the runtime's own locks are waited for, it may not have got hold of a stack. */
static bool is_stack(const struct go_bucket_format *f, const uint64_t *stack, uint64_t n)
{
	if (f->type != GO_BUCKET_MEMORY && n > 0 && stack[0] == GO_BUCKET_LOGICAL) {
		stack++;
		n--;
	}
	return n == 0 || is_text(f, stack[0]);
}

static bool is_record(const struct go_bucket_format *f, const struct header *h,
		      const uint64_t *stack)
{
	return is_stack(f, stack, h->n_stack) &&
	       go_bucket_hash(stack, (size_t)h->n_stack, h->size) == h->hash;
}

static void set_header(struct go_bucket *b, const struct header *h, const uint64_t *stack)
{
	b->next = h->next;
	b->size = h->size;
	b->n_stack = (uint32_t)h->n_stack;
	b->stack = stack;
}

static int read_with(read_fn *read, struct memory_windows *w, const struct go_bucket_format *f,
		     uint64_t address, struct go_bucket *ret)
{
	size_t stack_len;
	struct header h;
	int r;

	r = address % sizeof(uint64_t) == 0 ? read(w, address, &h, sizeof(h)) : -EBADMSG;
	if (r < 0 || !is_plausible(&h, f->type))
		return r < 0 ? r : -EBADMSG;
	stack_len = (size_t)h.n_stack * sizeof(*ret->copy);
	r = read(w, address + sizeof(h), ret->copy, stack_len);
	if (r < 0 || !is_record(f, &h, ret->copy))
		return r < 0 ? r : -EBADMSG;
	set_header(ret, &h, ret->copy);
	return read(w, address + sizeof(h) + stack_len, ret->words,
		    f->n_words * sizeof(*ret->words));
}

int go_bucket_read_now(struct memory_windows *w, const struct go_bucket_format *f, uint64_t address,
		       struct go_bucket *ret)
{
	return read_with(memory_windows_read_now, w, f, address, ret);
}

/* Where it lies in a window. */
static bool look_at(struct memory_windows *w, const struct go_bucket_format *f, uint64_t address,
		    struct go_bucket *ret)
{
	const uint64_t *words = NULL;
	struct header h;

	if (address % sizeof(uint64_t) == 0)
		words = memory_windows_words(w, address, sizeof(h) / sizeof(*words));
	if (!words)
		return false;
	memcpy(&h, words, sizeof(h));
	if (!is_plausible(&h, f->type))
		return false;
	words = memory_windows_words(w, address + sizeof(h), (size_t)h.n_stack + f->n_words);
	if (!words || !is_record(f, &h, words))
		return false;
	set_header(ret, &h, words);
	memcpy(ret->words, words + h.n_stack, f->n_words * sizeof(*ret->words));
	return true;
}

int go_bucket_read(struct memory_windows *w, const struct go_bucket_format *f, uint64_t address,
		   struct go_bucket *ret)
{
	int r;

	if (look_at(w, f, address, ret))
		return 0;
	r = read_with(memory_windows_read, w, f, address, ret);
	/* what was read in passing may be of a moment before the record was filled */
	return r == -EBADMSG ? go_bucket_read_now(w, f, address, ret) : r;
}
