/*
 * A record lies in the process as a fixed header, then the stack, then the counters, all
 * words (newBucket, bucket.stk, bucket.mp and bucket.bp in runtime/mprof.go). The runtime
 * allocates records from persistent memory in large chunks, so most of them lie in a memory
 * window as a whole: these are checked in place, without copying the stack. The rest is read
 * piece by piece.
 *
 * Cheap checks come first: addresses that we are given may be anything (go_bucket_scan.h
 * tries every word of .bss), and hashing a thousand words for each would be slow.
 */
#include "node-agent/go/record/go_bucket.h"

#include <errno.h>

/* struct bucket of the runtime; the stack and the counters follow. */
struct header {
	uint64_t chain; /* "next": of the runtime's hash table, not used here */
	uint64_t next;  /* "allnext": of the list of all records of this type */
	uint64_t type;
	uint64_t hash;
	uint64_t size;
	uint64_t n_stack;
};

typedef int read_fn(struct memory_windows *w, uint64_t address, void *to, size_t len);

/* As in stkbucket() of runtime/mprof.go. */
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
		/* a return address follows a call, which may be the last instruction of the text */
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
	/* zeroed memory would pass: the hash of no stack and no size is 0 */
	return h->hash != 0 && h->n_stack > 0 && h->size > 0 && h->size < GO_BUCKET_SIZE_MAX;
}

/*
 * Lock records may have no stack: the runtime cannot always unwind where its own locks are
 * waited for.
 */
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

/* Decodes the record in place. False if it is not valid, or does not lie in one window. */
static bool read_in_window(struct memory_windows *w, const struct go_bucket_format *f,
			   uint64_t address, struct go_bucket *ret)
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

	if (read_in_window(w, f, address, ret))
		return 0;
	r = read_with(memory_windows_read, w, f, address, ret);
	/* the window may have been read before the runtime filled in the record */
	return r == -EBADMSG ? go_bucket_read_now(w, f, address, ret) : r;
}
