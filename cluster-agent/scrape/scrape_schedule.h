/*
 * Decides when to scrape each endpoint. Pure: the caller passes the time.
 *
 * An item has one slot per interval, at an offset derived from a hash. It is in the schedule
 * while it waits, and out of it while its scrape runs. A late item stays ahead of items that
 * are due later. Slots in which nothing was done are skipped and counted.
 */
#ifndef CLUSTER_AGENT_SCRAPE_SCRAPE_SCHEDULE_H
#define CLUSTER_AGENT_SCRAPE_SCRAPE_SCHEDULE_H

#include "common/base.h"

/*
 * New targets are scraped immediately, so that the page shows them: a burst of this many,
 * refilled at this rate. Beyond that they take turns at this rate, or wait for their slot if that
 * comes first. First scrapes that failed, since the program is still starting, are repeated within
 * a budget of the same size.
 */
#define SCHEDULE_BURST 20u
#define SCHEDULE_BURST_PER_S 2u

/* What the budgets are for. */
enum schedule_early {
	SCHEDULE_NEW,
	SCHEDULE_REPEATED,
	SCHEDULE_EARLY_MAX,
};

/* Embedded in the scheduled object. If zeroed, it is not in a schedule. */
struct schedule_item {
	uint64_t slot_ns;     /* the slot that it waits for */
	uint64_t due_ns;      /* earliest start; slot_ns or later */
	uint64_t offset_ns;   /* of its slots within the interval */
	uint64_t interval_ns; /* between its slots; 0: the schedule's, until it is added */
	size_t position;      /* in the heap, counted from 1; 0 if not in it */
};

struct scrape_schedule {
	struct schedule_item **heap; /* the earliest at the top */
	size_t n;
	size_t cap;
	uint64_t interval_ns;                          /* of items that have none of their own */
	uint64_t burst_full_at_ns[SCHEDULE_EARLY_MAX]; /* when it is fully available again */
};

void scrape_schedule_init(struct scrape_schedule *s, uint64_t interval_ns);
/* Items are not freed. */
void scrape_schedule_fini(struct scrape_schedule *s);

/*
 * Reserves memory for n items in total, so that adding them cannot fail. Returns 0 or -ENOMEM.
 */
int scrape_schedule_reserve(struct scrape_schedule *s, size_t n) MUST_CHECK;

/*
 * Returns when, from not_before_ns on, there is a place for a scrape outside its slot, or
 * UINT64_MAX if there is none before the item's next slot. Each other answer consumes one of the
 * burst. The item must have been placed.
 */
uint64_t scrape_schedule_early_ns(struct scrape_schedule *s, enum schedule_early what,
				  const struct schedule_item *item, uint64_t not_before_ns);

/* Sets the item's offset in the interval. Does not add it to the schedule. */
void scrape_schedule_place(const struct scrape_schedule *s, struct schedule_item *item,
			   uint64_t hash);
/* Adds the item as due at now_ns, as if this were its slot. */
void scrape_schedule_put_now(struct scrape_schedule *s, struct schedule_item *item,
			     uint64_t now_ns);
/* Adds the item for its first slot after after_ns. */
void scrape_schedule_put(struct scrape_schedule *s, struct schedule_item *item, uint64_t after_ns);
/*
 * Adds the item after its scrape: for its next slot, or immediately for the last one if that
 * passed less than a quarter of an interval ago, so that scrapes that take a whole interval can
 * follow each other. Adds the number of missed slots to *missed.
 */
void scrape_schedule_put_again(struct scrape_schedule *s, struct schedule_item *item,
			       uint64_t now_ns, uint64_t *missed);
/* Adds the item again for the same slot, but not before due_ns. */
void scrape_schedule_defer(struct scrape_schedule *s, struct schedule_item *item, uint64_t due_ns);
/* Does nothing if the item is not in the schedule. */
void scrape_schedule_remove(struct scrape_schedule *s, struct schedule_item *item);

/* The due time of the earliest item, or UINT64_MAX. */
uint64_t scrape_schedule_next_ns(const struct scrape_schedule *s);
/*
 * Removes and returns the earliest item that is due, or NULL. If it waited for more than an
 * interval, it stands for its latest slot, and the others are added to *missed.
 */
struct schedule_item *scrape_schedule_pop(struct scrape_schedule *s, uint64_t now_ns,
					  uint64_t *missed);
#endif /* CLUSTER_AGENT_SCRAPE_SCRAPE_SCHEDULE_H */
