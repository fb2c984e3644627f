/*
 * When a profile was taken, as far as that is credible. Pure.
 *
 * A profile whose end is in the future, or longer ago than profiles are kept, comes from a host
 * whose clock is wrong. Refusing it would lose everything that such a host measures, and storing it
 * where it claims to belong would hide it or delete it at once. So it gets the time at which it
 * arrived, and says in a label of its rows that it was moved, and by how much. A profile that is
 * old, but not too old, stays where it is: it may have waited for the end of an outage.
 */
#ifndef CLUSTER_AGENT_INGEST_PROFILE_WINDOW_H
#define CLUSTER_AGENT_INGEST_PROFILE_WINDOW_H

#include "common/base.h"

/* Clocks that are synchronised differ by less. Lists end now, so what is later is in none. */
#define PROFILE_WINDOW_MAX_FUTURE_NS (INT64_C(60) * 1000000000)

/* Nanoseconds since the Unix epoch. */
struct profile_window {
	int64_t start_ns;
	int64_t end_ns;
	bool bad_duration; /* the claimed one is impossible, and 0 is used */
	int64_t skew_ns; /* by how much the claimed end was after the arrival; 0: it is believed */
};

/*
 * end_ns and duration_ns are what the profile claims; an end of 0 stands for the arrival. A
 * duration that is negative or longer than max_age_ns is impossible.
 */
void profile_window_set(struct profile_window *ret, int64_t end_ns, int64_t duration_ns,
			int64_t now_ns, int64_t max_age_ns);

#endif /* CLUSTER_AGENT_INGEST_PROFILE_WINDOW_H */
