#include "node-agent/heap/heap_history.h"

#include <errno.h>

#include "common/clock.h"
#include "node-agent/symbol/heap_sort.h"

#define UNKNOWN UINT64_MAX
#define FIRST_BUCKETS 256u
#define CLOCK_EVERY 256u /* buckets: some tens of microseconds */

struct known {
	uint64_t address;
	uint64_t allocs; /* as of the last committed round; UNKNOWN: could not be read then */
	uint64_t seen;   /* in the round since */
	bool fresh;      /* found in the round since */
};

struct heap_history {
	struct heap_history_config cfg;
	struct known *items; /* by address */
	size_t n, cap;
	uint64_t head;             /* the newest record that is known; 0: none */
	uint64_t new_head;         /* of the round since */
	struct heap_bucket bucket; /* large: not on the stack */
};

int heap_history_new(struct heap_history **ret, const struct heap_history_config *cfg)
{
	struct heap_history *h = calloc(1, sizeof(*h));

	if (!h)
		return -ENOMEM;
	h->cfg = *cfg;
	*ret = h;
	return 0;
}

void heap_history_free(struct heap_history *h)
{
	if (!h)
		return;
	free(h->items);
	free(h);
}

static int add(struct heap_history *h, uint64_t address)
{
	if (h->n == h->cfg.max_buckets)
		return -E2BIG;
	if (h->n == h->cap) {
		size_t cap = h->cap ? h->cap * 2 : FIRST_BUCKETS;
		struct known *items = realloc(h->items, cap * sizeof(*items));

		if (!items)
			return -ENOMEM;
		h->items = items;
		h->cap = cap;
	}
	h->items[h->n++] = (struct known){.address = address, .fresh = true};
	return 0;
}

static bool is_late(const struct heap_round *round, size_t n)
{
	return n % CLOCK_EVERY == 0 && round->deadline_ns != UINT64_MAX &&
	       clock_monotonic_ns() > round->deadline_ns;
}

/*
 * From the new head to the known one. A circle is noticed by an address that is remembered at each
 * power of two: once that is longer than the circle, it comes round again.
 */
static int walk(struct heap_history *h, const struct heap_round *round)
{
	uint64_t remembered = 0;
	uint64_t at = h->new_head;

	for (size_t n = 1; at != h->head; n++) {
		int r;

		if (at == 0)
			return -ESTALE;
		if (at == remembered)
			return -ELOOP;
		if ((n & (n - 1)) == 0)
			remembered = at;
		if (is_late(round, n))
			return -ETIME;
		r = heap_bucket_read(round->windows, round->format, at, &h->bucket);
		if (r < 0 && r != -EAGAIN)
			return r;
		r = add(h, at);
		if (r < 0)
			return r;
		at = h->bucket.next;
	}
	return 0;
}

static int by_address(const void *a, const void *b)
{
	const struct known *x = a, *y = b;

	return x->address < y->address ? -1 : x->address > y->address;
}

/* What the records of this round counted before it is no news. */
static bool begins_now(const struct heap_history *h)
{
	return h->cfg.start == HEAP_HISTORY_FROM_NOW && h->head == 0;
}

static int read_one(struct heap_history *h, struct known *k, const struct heap_round *round,
		    struct heap_round_result *ret)
{
	int r = heap_bucket_read(round->windows, round->format, k->address, &h->bucket);

	k->seen = k->fresh && begins_now(h) ? UNKNOWN : k->allocs;
	if (r == -EAGAIN)
		ret->n_torn++;
	if (r < 0)
		return r;
	k->seen = h->bucket.active.allocs + h->bucket.future.allocs;
	if (k->allocs == UNKNOWN || (k->fresh && begins_now(h)))
		k->allocs = k->seen;
	if (k->seen < k->allocs) {
		ret->n_backwards++;
		k->seen = k->allocs;
	}
	return 0;
}

static int read_all(struct heap_history *h, const struct heap_round *round, heap_history_fn *fn,
		    void *ctx, struct heap_round_result *ret)
{
	for (size_t i = 0; i < h->n; i++) {
		struct known *k = &h->items[i];
		int r;

		if (is_late(round, i + 1))
			return -ETIME;
		r = read_one(h, k, round, ret);
		if (r == -EAGAIN)
			continue;
		if (r == 0)
			r = fn(ctx, &h->bucket, k->seen - k->allocs);
		if (r != 0)
			return r;
	}
	return 0;
}

static void forget_fresh(struct heap_history *h)
{
	size_t n = 0;

	for (size_t i = 0; i < h->n; i++) {
		if (!h->items[i].fresh)
			h->items[n++] = h->items[i];
	}
	h->n = n;
}

int heap_history_round(struct heap_history *h, const struct heap_round *round, heap_history_fn *fn,
		       void *ctx, struct heap_round_result *ret)
{
	size_t n_before;
	int r;

	*ret = (struct heap_round_result){0};
	forget_fresh(h); /* of a round that was not committed */
	n_before = h->n;
	r = memory_windows_read_now(round->windows, round->head_address, &h->new_head,
				    sizeof(h->new_head));
	if (r == 0)
		r = walk(h, round);
	if (h->n > n_before)
		heap_sort(h->items, h->n, sizeof(*h->items), by_address);
	if (r == 0)
		r = read_all(h, round, fn, ctx, ret);
	ret->n_buckets = h->n;
	if (r == 0)
		return 0;
	forget_fresh(h);
	if (r == -ESTALE) {
		h->n = 0;
		h->head = 0;
		h->cfg.start = HEAP_HISTORY_FROM_NOW;
	}
	return r;
}

void heap_history_commit(struct heap_history *h)
{
	/* a list that is still empty: what comes is news */
	if (h->new_head == 0)
		h->cfg.start = HEAP_HISTORY_FROM_ZERO;
	for (size_t i = 0; i < h->n; i++) {
		h->items[i].allocs = h->items[i].seen;
		h->items[i].fresh = false;
	}
	h->head = h->new_head;
}
