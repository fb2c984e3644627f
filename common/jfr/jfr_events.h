/*
 * Events → samples: which events are used, and what each stands for. Pure.
 *
 * What the writers put into an event is not yet its value:
 *
 * - async-profiler samples allocations as JVMTI does: the points between which it samples are
 *   exponentially distributed with a mean of the interval, so an object of size s is sampled with
 *   probability 1 - exp(-s / interval), and stands for the reciprocal number of objects. The event
 *   has the size, and the larger one of size and interval as "tlabSize". Where the JVM has no such
 *   sampling (JDK 8), it takes every event at which a TLAB is filled, whose size is summed up until
 *   it passes the interval: such an event stands for the larger one of TLAB and interval.
 * - It samples locks in the same way by the time waited (since release 4.0): a wait shorter than
 *   the interval is recorded with probability wait / interval.
 * - The JDK's ObjectAllocationInNewTLAB stands for its TLAB, and ObjectAllocationSample for all
 *   that the thread allocated since its previous one ("weight"); of the latter, the size of the
 *   object is not known, so one object is counted for each: too few.
 *   A recording with both of them, which no settings of the JDK make, counts allocations twice.
 * - The JDK's ExecutionSample looks at a few threads at most at a time, and its CPU time is a lower
 *   bound on a busy machine.
 * - Of live objects async-profiler follows 1024 at most: a lower bound as well. The JDK follows
 *   256, of which each counts as one object, and older ones than 21 do not write the size.
 */
#ifndef COMMON_JFR_JFR_EVENTS_H
#define COMMON_JFR_JFR_EVENTS_H

#include "common/base.h"
#include "common/jfr/jfr_groups.h"
#include "common/jfr/jfr_metadata.h"

enum jfr_event {
	JFR_EVENT_EXECUTION,
	JFR_EVENT_CPU_TIME,
	JFR_EVENT_NATIVE,
	JFR_EVENT_WALL,
	JFR_EVENT_ALLOC_SAMPLE,
	JFR_EVENT_ALLOC_TLAB,
	JFR_EVENT_ALLOC_OUTSIDE,
	JFR_EVENT_LIVE,
	JFR_EVENT_OLD_OBJECT,
	JFR_EVENT_MONITOR_ENTER,
	JFR_EVENT_MONITOR_WAIT,
	JFR_EVENT_PARK,
	JFR_EVENT_MALLOC,
	JFR_EVENT_SETTING,
	JFR_EVENT_MAX,
};

#define JFR_EVENT_DIRECT_IDS 1024u

struct jfr_events {
	struct jfr_plan plans[JFR_EVENT_MAX];
	uint64_t ids[JFR_EVENT_MAX];
	uint8_t direct[JFR_EVENT_DIRECT_IDS]; /* by type id: enum jfr_event + 1; 0: not used */
	bool is_async_profiler;
	/* Execution samples with another state than the default are of the wall clock. */
	bool state_tells_wall;
	bool event_is_wall;  /* async-profiler's "interval" is that of the wall clock */
	bool event_is_count; /* ... is not a time: events are counted by hardware */
	double ns_per_tick;
	struct jfr_settings settings;
};

/* settings: those that are known before. */
void jfr_events_init(struct jfr_events *e, const struct jfr_settings *settings);
/* For each chunk. */
void jfr_events_prepare(struct jfr_events *e, const struct jfr_metadata *m,
			uint64_t ticks_per_second);

/* The event of a type id, or JFR_EVENT_MAX. */
static inline enum jfr_event jfr_events_find(const struct jfr_events *e, uint64_t type_id)
{
	if (type_id < JFR_EVENT_DIRECT_IDS)
		return e->direct[type_id] != 0 ? (enum jfr_event)(e->direct[type_id] - 1)
					       : JFR_EVENT_MAX;
	for (size_t i = 0; i < JFR_EVENT_MAX; i++) {
		if (e->plans[i].n != 0 && e->ids[i] == type_id)
			return (enum jfr_event)i;
	}
	return JFR_EVENT_MAX;
}

/* Reads the fields after the type id. Returns false if the event is no sample, but a setting. */
bool jfr_events_read(struct jfr_events *e, enum jfr_event event, struct jfr_reader *r,
		     struct jfr_sample *ret);

#endif /* COMMON_JFR_JFR_EVENTS_H */
