/*
 * How the receiver's clock stands to ours. Pure.
 *
 * The time of a profile is what this host's wall clock showed, which may be wrong, and may be set
 * right while profiles wait. The receiver's clock is the one that all hosts share, and its header
 * "Date" shows it. The time since boot never steps: we learn what the receiver's clock showed at
 * boot, and know for each profile what ours did, so the difference is the profile's correction,
 * whatever happened to the wall clock in between.
 *
 * "Date" has whole seconds, and the answer was written at some point between request and arrival.
 * So a measurement is an interval; several are intersected.
 */
#ifndef COMMON_UPLOAD_RECEIVER_CLOCK_H
#define COMMON_UPLOAD_RECEIVER_CLOCK_H

#include "common/base.h"

/*
 * The header by which a sender that corrects the times of its profiles says how many seconds its
 * clock is ahead of the receiver's (negative: behind).
 */
#define RECEIVER_CLOCK_HEADER "Clock-Skew"

/* Smaller differences are not corrected: clocks that are synchronised differ by less. */
#define RECEIVER_CLOCK_MIN_SKEW_NS (INT64_C(2) * 1000000000)

/* A clock is described by what it showed at boot, in nanoseconds since the Unix epoch. */
struct receiver_clock {
	bool is_known;
	int64_t low_ns, high_ns; /* the receiver's is between the two */
	int64_t own_ns;          /* ours, at the last measurement */
};

/*
 * Adds an answer. date_s is its "Date"; the request was sent and the answer received at these times
 * since boot. An answer that contradicts the earlier ones replaces them: another receiver, or a
 * virtual machine that was paused.
 */
void receiver_clock_note(struct receiver_clock *c, int64_t date_s, uint64_t sent_ns,
			 uint64_t received_ns, int64_t own_ns);

/*
 * Whether the measurement holds: there is one, and our wall clock has not stepped since. After a
 * step it is open whether the clock was set or the machine paused; the next answer says so.
 */
bool receiver_clock_is_usable(const struct receiver_clock *c, int64_t own_ns);

/* What to add to a time of a clock that showed own_ns at boot; 0 if it is right or unknown. */
int64_t receiver_clock_correction(const struct receiver_clock *c, int64_t own_ns);

/* What the receiver's clock shows now; only of a known one. */
int64_t receiver_clock_now(const struct receiver_clock *c, uint64_t since_boot_ns);

#endif /* COMMON_UPLOAD_RECEIVER_CLOCK_H */
