#include "node-agent/runtime/due_heap.h"

#include <errno.h>

#include "common/data/array.h"

void due_heap_fini(struct due_heap *h)
{
	free(h->at);
	*h = (struct due_heap){0};
}

/* Places are counted from 1, so that the children of n are 2n and 2n+1; at[] is counted from 0. */
static void put(struct due_heap *h, size_t place, struct due *d)
{
	h->at[place - 1] = d;
	d->place = place;
}

static void rise(struct due_heap *h, struct due *d)
{
	size_t place = d->place;

	for (; place > 1 && h->at[place / 2 - 1]->ns > d->ns; place /= 2)
		put(h, place, h->at[place / 2 - 1]);
	put(h, place, d);
}

static void sink(struct due_heap *h, struct due *d)
{
	size_t place = d->place, child;

	for (; (child = 2 * place) <= h->n; place = child) {
		child += child < h->n && h->at[child]->ns < h->at[child - 1]->ns;
		if (h->at[child - 1]->ns >= d->ns)
			break;
		put(h, place, h->at[child - 1]);
	}
	put(h, place, d);
}

int due_heap_add(struct due_heap *h, struct due *d, uint64_t ns)
{
	if (ARRAY_RESERVE(h->at, h->cap, h->n + 1) < 0)
		return -ENOMEM;
	d->ns = ns;
	put(h, ++h->n, d);
	rise(h, d);
	return 0;
}

void due_heap_move(struct due_heap *h, struct due *d, uint64_t ns)
{
	d->ns = ns;
	rise(h, d);
	sink(h, d);
}

void due_heap_remove(struct due_heap *h, struct due *d)
{
	struct due *last;

	if (d->place == 0)
		return;
	last = h->at[--h->n];
	if (last != d) {
		put(h, d->place, last);
		due_heap_move(h, last, last->ns);
	}
	d->place = 0;
}

struct due *due_heap_first(const struct due_heap *h)
{
	return h->n > 0 ? h->at[0] : NULL;
}
