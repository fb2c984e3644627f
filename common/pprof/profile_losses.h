/*
 * What a decoder left out of a profile or changed in it, counted by reason.
 *
 * An upload with an odd element is stored without that element instead of being refused. Whoever
 * decodes counts here; the counts are added to /metrics and are named in the answer, so that
 * nothing disappears in silence. Pure.
 */
#ifndef COMMON_PPROF_PROFILE_LOSSES_H
#define COMMON_PPROF_PROFILE_LOSSES_H

#include "common/base.h"

enum profile_loss {
	PROFILE_LOSS_BROKEN_SAMPLES,  /* left out: they refer to something that does not exist */
	PROFILE_LOSS_BROKEN_NAMES,    /* replaced by the address: they do not exist */
	PROFILE_LOSS_CUT_STACKS,      /* their frames nearest to the root were dropped */
	PROFILE_LOSS_CUT_LOCATIONS,   /* their outermost inlined calls were dropped */
	PROFILE_LOSS_CUT_STRINGS,     /* shortened, with a mark at the end */
	PROFILE_LOSS_NEGATIVE_VALUES, /* counted as 0 */
	PROFILE_LOSS_CLAMPED_VALUES,  /* beyond 63 bits: counted as the largest value */
	PROFILE_LOSS_BAD_TIMES,       /* a negative duration, or a time that cannot be one */
	PROFILE_LOSS_BROKEN_LINES,    /* of a text format, left out: they could not be read */
	PROFILE_LOSS_OTHER_EVENTS, /* of a recording, left out: of kinds that become no profile */
	PROFILE_LOSS_OTHER_TYPES,  /* sample types left out: too many, or too long a name */
	PROFILE_LOSS_MAX,
};

/* X(loss, name) for each; the name is the label "reason" in /metrics. */
#define PROFILE_LOSSES(X)                                           \
	X(PROFILE_LOSS_BROKEN_SAMPLES, "broken_samples"),           \
		X(PROFILE_LOSS_BROKEN_NAMES, "broken_names"),       \
		X(PROFILE_LOSS_CUT_STACKS, "cut_stacks"),           \
		X(PROFILE_LOSS_CUT_LOCATIONS, "cut_locations"),     \
		X(PROFILE_LOSS_CUT_STRINGS, "cut_strings"),         \
		X(PROFILE_LOSS_NEGATIVE_VALUES, "negative_values"), \
		X(PROFILE_LOSS_CLAMPED_VALUES, "clamped_values"),   \
		X(PROFILE_LOSS_BAD_TIMES, "bad_times"),             \
		X(PROFILE_LOSS_BROKEN_LINES, "broken_lines"),       \
		X(PROFILE_LOSS_OTHER_EVENTS, "other_events"),       \
		X(PROFILE_LOSS_OTHER_TYPES, "other_types")

struct profile_losses {
	uint64_t n[PROFILE_LOSS_MAX];
};

bool profile_losses_any(const struct profile_losses *l);
void profile_losses_add(struct profile_losses *l, const struct profile_losses *other);

/*
 * Writes one line for people, such as "3 samples left out: they refer to something that does not
 * exist; 1 stack cut"; "" if there were no losses. At most size bytes with the NUL.
 */
void profile_losses_text(const struct profile_losses *l, char *text, size_t size);

#endif /* COMMON_PPROF_PROFILE_LOSSES_H */
