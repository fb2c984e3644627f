/*
 * A binary heap of items by due time. Slots are not stored but computed from the offset and the
 * interval, so a delay never accumulates: an item that is late returns to its own place in the
 * interval.
 *
 * Heap positions are stored in the items, so that a pod that disappears can be removed without
 * searching. Memory is reserved when a target is added; from then on, rescheduling cannot fail.
 */
#include "cluster-agent/scrape/scrape_schedule.h"

#include <assert.h>
#include <errno.h>

#include "common/data/array.h"
#include "common/system/clock.h"

void scrape_schedule_init(struct scrape_schedule *s, uint64_t interval_ns)
{
	assert(interval_ns > 0);
	*s = (struct scrape_schedule){.interval_ns = interval_ns};
}

void scrape_schedule_fini(struct scrape_schedule *s)
{
	free(s->heap);
	s->heap = NULL;
}

int scrape_schedule_reserve(struct scrape_schedule *s, size_t n)
{
	return ARRAY_RESERVE(s->heap, s->cap, n);
}

static void set(struct scrape_schedule *s, size_t position, struct schedule_item *item)
{
	s->heap[position - 1] = item;
	item->position = position;
}

static void move_up(struct scrape_schedule *s, struct schedule_item *item)
{
	size_t at = item->position;

	while (at > 1 && s->heap[at / 2 - 1]->due_ns > item->due_ns) {
		set(s, at, s->heap[at / 2 - 1]);
		at /= 2;
	}
	set(s, at, item);
}

static void move_down(struct scrape_schedule *s, struct schedule_item *item)
{
	size_t at = item->position;

	for (size_t child = 2 * at; child <= s->n; child = 2 * at) {
		if (child < s->n && s->heap[child]->due_ns < s->heap[child - 1]->due_ns)
			child++;
		if (s->heap[child - 1]->due_ns >= item->due_ns)
			break;
		set(s, at, s->heap[child - 1]);
		at = child;
	}
	set(s, at, item);
}

static void insert(struct scrape_schedule *s, struct schedule_item *item)
{
	assert(item->position == 0 && s->n < s->cap);
	set(s, ++s->n, item);
	move_up(s, item);
}

void scrape_schedule_remove(struct scrape_schedule *s, struct schedule_item *item)
{
	struct schedule_item *last;

	if (item->position == 0)
		return;
	last = s->heap[--s->n];
	if (last != item) {
		set(s, item->position, last);
		move_up(s, last);
		move_down(s, last);
	}
	item->position = 0;
}

static void set_interval(const struct scrape_schedule *s, struct schedule_item *item)
{
	if (item->interval_ns == 0)
		item->interval_ns = s->interval_ns;
}

void scrape_schedule_place(const struct scrape_schedule *s, struct schedule_item *item,
			   uint64_t hash)
{
	set_interval(s, item);
	item->offset_ns = hash % item->interval_ns;
}

static uint64_t slot_after(const struct schedule_item *item, uint64_t after_ns)
{
	if (after_ns < item->offset_ns)
		return item->offset_ns;
	return after_ns - (after_ns - item->offset_ns) % item->interval_ns + item->interval_ns;
}

uint64_t scrape_schedule_early_ns(struct scrape_schedule *s, enum schedule_early what,
				  const struct schedule_item *item, uint64_t not_before_ns)
{
	const uint64_t each_ns = NS_PER_S / SCHEDULE_BURST_PER_S;
	uint64_t *full_at = &s->burst_full_at_ns[what], full, place = not_before_ns;

	full = (*full_at > not_before_ns ? *full_at : not_before_ns) + each_ns;
	if (full - not_before_ns > SCHEDULE_BURST * each_ns)
		place = full - SCHEDULE_BURST * each_ns;
	if (place >= slot_after(item, not_before_ns))
		return UINT64_MAX;
	*full_at = full;
	return place;
}

/* The number of slots with after_ns < slot <= now_ns. */
static uint64_t slots_between(const struct schedule_item *item, uint64_t after_ns, uint64_t now_ns)
{
	uint64_t first = slot_after(item, after_ns);

	return now_ns < first ? 0 : (now_ns - first) / item->interval_ns + 1;
}

void scrape_schedule_put_now(struct scrape_schedule *s, struct schedule_item *item, uint64_t now_ns)
{
	set_interval(s, item);
	item->slot_ns = now_ns;
	item->due_ns = now_ns;
	insert(s, item);
}

void scrape_schedule_put(struct scrape_schedule *s, struct schedule_item *item, uint64_t after_ns)
{
	set_interval(s, item);
	scrape_schedule_put_now(s, item, slot_after(item, after_ns));
}

void scrape_schedule_put_again(struct scrape_schedule *s, struct schedule_item *item,
			       uint64_t now_ns, uint64_t *missed)
{
	uint64_t n, next_ns;

	set_interval(s, item);
	n = slots_between(item, item->slot_ns, now_ns);
	next_ns = slot_after(item, now_ns);
	if (n > 0 && now_ns - (next_ns - item->interval_ns) < item->interval_ns / 4) {
		next_ns -= item->interval_ns;
		n--;
	}
	*missed += n;
	scrape_schedule_put_now(s, item, next_ns);
}

void scrape_schedule_defer(struct scrape_schedule *s, struct schedule_item *item, uint64_t due_ns)
{
	item->due_ns = due_ns;
	insert(s, item);
}

uint64_t scrape_schedule_next_ns(const struct scrape_schedule *s)
{
	return s->n > 0 ? s->heap[0]->due_ns : UINT64_MAX;
}

static bool is_slot(const struct schedule_item *item, uint64_t time_ns)
{
	return time_ns >= item->offset_ns && (time_ns - item->offset_ns) % item->interval_ns == 0;
}

struct schedule_item *scrape_schedule_pop(struct scrape_schedule *s, uint64_t now_ns,
					  uint64_t *missed)
{
	struct schedule_item *item;
	uint64_t n;

	if (scrape_schedule_next_ns(s) > now_ns)
		return NULL;
	item = s->heap[0];
	scrape_schedule_remove(s, item);
	n = slots_between(item, item->slot_ns, now_ns);
	if (n > 0) {
		/* an item added for "now" was not waiting for a slot that it could miss */
		*missed += is_slot(item, item->slot_ns) ? n : n - 1;
		item->slot_ns = slot_after(item, now_ns) - item->interval_ns;
	}
	return item;
}
