#include "node-agent/go/go_bucket.h"

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

static int read_header(read_fn *read, struct memory_windows *w, enum go_bucket_type type,
		       uint64_t address, struct header *ret)
{
	int r = address % sizeof(uint64_t) == 0 ? read(w, address, ret, sizeof(*ret)) : -EBADMSG;

	return r < 0 || is_plausible(ret, type) ? r : -EBADMSG;
}

static int read_with(read_fn *read, struct memory_windows *w, const struct go_bucket_format *f,
		     uint64_t address, struct go_bucket *ret)
{
	size_t stack_len;
	struct header h;
	int r;

	r = read_header(read, w, f->type, address, &h);
	if (r < 0)
		return r;
	stack_len = (size_t)h.n_stack * sizeof(*ret->stack);
	r = read(w, address + sizeof(h), ret->stack, stack_len);
	if (r < 0)
		return r;
	if (!is_stack(f, ret->stack, h.n_stack) ||
	    go_bucket_hash(ret->stack, (size_t)h.n_stack, h.size) != h.hash)
		return -EBADMSG;
	ret->next = h.next;
	ret->size = h.size;
	ret->n_stack = (uint32_t)h.n_stack;
	return read(w, address + sizeof(h) + stack_len, ret->words,
		    f->n_words * sizeof(*ret->words));
}

int go_bucket_read_now(struct memory_windows *w, const struct go_bucket_format *f, uint64_t address,
		       struct go_bucket *ret)
{
	return read_with(memory_windows_read_now, w, f, address, ret);
}

int go_bucket_read(struct memory_windows *w, const struct go_bucket_format *f, uint64_t address,
		   struct go_bucket *ret)
{
	int r = read_with(memory_windows_read, w, f, address, ret);

	/* what was read in passing may be of a moment before the record was filled */
	return r == -EBADMSG ? go_bucket_read_now(w, f, address, ret) : r;
}
