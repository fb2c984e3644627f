/*
 * The runtime pushes a new record at the head of its list and never removes one. So a round
 * walks the list from the current head only as far as the head of the previous round: these
 * records are fresh. Records from earlier rounds are not reached through the list, which
 * jumps all over the memory, but read in the order of their addresses: then one large read
 * serves many of them. Fresh records are sorted into the array at the end of the round.
 *
 * Memory is what counts here, as an agent may follow a million records of many processes. An
 * item is n_words words: the address of the record, whose three lowest bits are free for
 * flags, its counters as of the last committed round, and those of the round in progress.
 * Committing copies the latter over the former; a failed round just drops its fresh items.
 *
 * The process is not stopped, and may lie. What we rely on is checked: the walk must arrive
 * at the previous head (else -ESTALE: it is another list), must not go in circles, and has
 * limits of time, bytes and records.
 */
#include "node-agent/go/record/bucket_history.h"

#include <errno.h>

#include "common/data/word_sort.h"
#include "common/system/clock.h"

#define FRESH UINT64_C(1)       /* first seen in the round in progress */
#define NO_BASELINE UINT64_C(2) /* its counters before this round were never read */
#define READ UINT64_C(4)        /* was read successfully in the round in progress */
#define FLAGS UINT64_C(7)
#define FIRST_BUCKETS 64u
#define CLOCK_EVERY 256u /* records between two checks of the clock: some tens of microseconds */
#define RETRIES 4

struct bucket_history {
	struct bucket_history_config cfg;
	size_t n_words;  /* per item */
	uint64_t *items; /* sorted by address */
	size_t n, cap;
	uint64_t head;           /* the newest record of the last committed round; 0 if none */
	uint64_t new_head;       /* of the round in progress */
	struct go_bucket bucket; /* large: not on the stack */
};

int bucket_history_new(struct bucket_history **ret, const struct bucket_history_config *cfg)
{
	struct bucket_history *h = calloc(1, sizeof(*h));

	if (!h)
		return -ENOMEM;
	h->cfg = *cfg;
	h->n_words = 1 + 2 * (size_t)cfg->n_counters;
	*ret = h;
	return 0;
}

void bucket_history_free(struct bucket_history *h)
{
	if (!h)
		return;
	free(h->items);
	free(h);
}

size_t bucket_history_bytes(const struct bucket_history *h)
{
	return sizeof(*h) + h->cap * h->n_words * sizeof(*h->items);
}

static uint64_t *item_at(const struct bucket_history *h, size_t i)
{
	return h->items + i * h->n_words;
}

static int add(struct bucket_history *h, uint64_t address)
{
	uint64_t *item;

	if (address & FLAGS)
		return -EBADMSG; /* records are aligned */
	if (h->n == h->cfg.max_buckets)
		return -E2BIG;
	if (h->n == h->cap) {
		size_t cap = h->cap ? h->cap + h->cap / 2 : FIRST_BUCKETS;
		uint64_t *items = realloc(h->items, cap * h->n_words * sizeof(*items));

		if (!items)
			return -ENOMEM;
		h->items = items;
		h->cap = cap;
	}
	item = item_at(h, h->n++);
	memset(item, 0, h->n_words * sizeof(*item));
	item[0] = address | FRESH;
	return 0;
}

static bool is_late(const struct bucket_round *round, size_t n)
{
	return n % CLOCK_EVERY == 0 && round->deadline_ns != UINT64_MAX &&
	       clock_effort_ns() > round->deadline_ns;
}

/* Whether the record may have counted something before we saw it that must not be reported. */
static bool lacks_baseline(const struct bucket_history *h, const uint64_t *item)
{
	return (item[0] & NO_BASELINE) ||
	       ((item[0] & FRESH) && h->cfg.start == BUCKET_HISTORY_FROM_NOW && h->head == 0);
}

/* The round in progress. */
struct work {
	const struct bucket_round *round;
	bucket_history_fn *fn;
	void *ctx;
	size_t n_torn;
};

/* Reads the record of an item into h->bucket, which also says where the next one is. */
static int read_one(struct bucket_history *h, uint64_t *item, struct work *work)
{
	const struct bucket_round *round = work->round;
	uint64_t address = item[0] & ~FLAGS;
	uint64_t *before = item + 1, *now = item + 1 + h->cfg.n_counters;
	bool no_baseline = lacks_baseline(h, item);
	int r;

	item[0] &= ~READ;
	memcpy(now, before, h->cfg.n_counters * sizeof(*now));
	r = go_bucket_read(round->windows, round->format, address, &h->bucket);
	for (int i = 0; r == 0; i++) {
		r = work->fn(work->ctx, &h->bucket, no_baseline ? NULL : before, now);
		if (r != -EAGAIN || i == RETRIES)
			break;
		r = go_bucket_read_now(round->windows, round->format, address, &h->bucket);
	}
	if (r == 0)
		item[0] |= READ;
	if (r == -EAGAIN)
		work->n_torn++;
	return r == -EAGAIN ? 0 : r;
}

/*
 * Walks from the new head to the previous one. Circles are detected as in Brent's algorithm:
 * the address at each power of two is remembered, and once that power exceeds the circle's
 * length the walk meets the remembered address again.
 */
static int read_fresh(struct bucket_history *h, struct work *work)
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
		if (is_late(work->round, n))
			return -ETIME;
		r = add(h, at);
		if (r == 0)
			r = read_one(h, item_at(h, h->n - 1), work);
		if (r < 0)
			return r;
		at = h->bucket.next;
	}
	return 0;
}

static int read_known(struct bucket_history *h, size_t n, struct work *work)
{
	int r = 0;

	for (size_t i = 0; r == 0 && i < n; i++)
		r = is_late(work->round, i + 1) ? -ETIME : read_one(h, item_at(h, i), work);
	return r;
}

/* Sorts the fresh items and merges them with the others, from the back. */
static int sort_fresh(struct bucket_history *h, size_t n_before)
{
	size_t size = h->n_words * sizeof(*h->items), n = h->n - n_before, to = h->n,
	       old = n_before;
	AUTO_FREE uint64_t *fresh = NULL;

	word_sort(item_at(h, n_before), n, size);
	if (n == 0 || n_before == 0 || *item_at(h, n_before - 1) < *item_at(h, n_before))
		return 0;
	fresh = malloc(n * size);
	if (!fresh)
		return -ENOMEM;
	memcpy(fresh, item_at(h, n_before), n * size);
	while (n > 0) {
		const uint64_t *f = fresh + (n - 1) * h->n_words;

		if (old > 0 && *item_at(h, old - 1) > *f)
			f = item_at(h, --old);
		else
			n--;
		memcpy(item_at(h, --to), f, size);
	}
	return 0;
}

static void drop_fresh(struct bucket_history *h)
{
	size_t n = 0;

	for (size_t i = 0; i < h->n; i++) {
		if (item_at(h, i)[0] & FRESH)
			continue;
		if (n < i)
			memcpy(item_at(h, n), item_at(h, i), h->n_words * sizeof(*h->items));
		n++;
	}
	h->n = n;
}

/* Otherwise a list that is too long every time would keep its memory allocated. */
static void free_items(struct bucket_history *h)
{
	free(h->items);
	h->items = NULL;
	h->cap = 0;
}

int bucket_history_round(struct bucket_history *h, const struct bucket_round *round,
			 bucket_history_fn *fn, void *ctx, struct bucket_round_result *ret)
{
	struct work work = {round, fn, ctx, 0};
	size_t n_before;
	int r;

	*ret = (struct bucket_round_result){0};
	drop_fresh(h); /* of a round that was not committed */
	n_before = h->n;
	r = memory_windows_read_now(round->windows, round->head_address, &h->new_head,
				    sizeof(h->new_head));
	if (r == 0)
		r = read_fresh(h, &work);
	if (r == 0)
		r = read_known(h, n_before, &work);
	if (r == 0)
		r = sort_fresh(h, n_before);
	ret->n_torn = work.n_torn;
	ret->n_buckets = h->n;
	if (r == 0)
		return 0;
	drop_fresh(h);
	if (r == -ESTALE) {
		h->n = 0;
		h->head = 0;
		h->cfg.start = BUCKET_HISTORY_FROM_NOW;
	}
	if (h->n == 0)
		free_items(h);
	return r;
}

void bucket_history_commit(struct bucket_history *h)
{
	size_t n = h->cfg.n_counters;

	for (size_t i = 0; i < h->n; i++) {
		uint64_t *item = item_at(h, i);
		/* a record that could not be read in its first round still has no baseline */
		bool keep = lacks_baseline(h, item) && !(item[0] & READ);

		memcpy(item + 1, item + 1 + n, n * sizeof(*item));
		item[0] = (item[0] & ~FLAGS) | (keep ? NO_BASELINE : 0);
	}
	/* the list was still empty: all that its records will count is to be reported */
	if (h->new_head == 0)
		h->cfg.start = BUCKET_HISTORY_FROM_ZERO;
	h->head = h->new_head;
}
