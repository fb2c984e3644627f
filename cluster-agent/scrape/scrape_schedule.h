/*
 * When what is to be scraped. Pure: time comes with each call.
 *
 * An item has a slot in every interval, at an offset that its hash gives. It is in the schedule while
 * it waits, out while it is under way; what comes late keeps its place before what is due later.
 * Slots that nothing was done for are skipped and counted.
 */
#ifndef CLUSTER_AGENT_SCRAPE_SCRAPE_SCHEDULE_H
#define CLUSTER_AGENT_SCRAPE_SCRAPE_SCHEDULE_H

#include "common/base.h"

/* Scrapes of new targets, so that the page shows them at once: so many at a time, then per second. */
#define SCHEDULE_BURST 20u
#define SCHEDULE_BURST_PER_S 2u

/* Embedded in what is scheduled. A zeroed one is in no schedule. */
struct schedule_item {
	uint64_t slot_ns;   /* which slot is waited for */
	uint64_t due_ns;    /* not before; slot_ns or later */
	uint64_t offset_ns; /* of its slots */
	size_t position;    /* in the heap, from 1; 0: not in it */
};

struct scrape_schedule {
	struct schedule_item **heap; /* the earliest first */
	size_t n;
	size_t cap;
	uint64_t interval_ns;
	uint64_t burst_full_at_ns; /* when all of SCHEDULE_BURST are there again */
};

void scrape_schedule_init(struct scrape_schedule *s, uint64_t interval_ns);
/* The items are the caller's. */
void scrape_schedule_fini(struct scrape_schedule *s);

/* Room for n items in all, so that putting cannot fail. -ENOMEM. */
int scrape_schedule_reserve(struct scrape_schedule *s, size_t n) MUST_CHECK;

/* Whether a new target may be scraped at once; each yes uses up one of the burst. */
bool scrape_schedule_may_burst(struct scrape_schedule *s, uint64_t now_ns);

/* Gives it its place in the interval. Then put it. */
void scrape_schedule_place(const struct scrape_schedule *s, struct schedule_item *item,
			   uint64_t hash);
/* To be done now, as if this were its slot. */
void scrape_schedule_put_now(struct scrape_schedule *s, struct schedule_item *item,
			     uint64_t now_ns);
/* For its first slot after after_ns. */
void scrape_schedule_put(struct scrape_schedule *s, struct schedule_item *item, uint64_t after_ns);
/*
 * After it was under way: for its next slot, or at once for the last one, when that has passed
 * less than a quarter of an interval ago, so that what takes a whole interval can go on and on. Adds
 * the slots that were missed.
 */
void scrape_schedule_put_again(struct scrape_schedule *s, struct schedule_item *item,
			       uint64_t now_ns, uint64_t *missed);
/* For the slot it had, but not before due_ns. */
void scrape_schedule_defer(struct scrape_schedule *s, struct schedule_item *item, uint64_t due_ns);
/* Items that are in no schedule stay so. */
void scrape_schedule_remove(struct scrape_schedule *s, struct schedule_item *item);

/* Of the earliest item; UINT64_MAX: there is none. */
uint64_t scrape_schedule_next_ns(const struct scrape_schedule *s);
/*
 * Takes out the earliest item that is due, or NULL. One that waited for more than an interval now
 * stands for its last slot; the others are added to *missed.
 */
struct schedule_item *scrape_schedule_pop(struct scrape_schedule *s, uint64_t now_ns,
					  uint64_t *missed);
#endif /* CLUSTER_AGENT_SCRAPE_SCRAPE_SCHEDULE_H */
