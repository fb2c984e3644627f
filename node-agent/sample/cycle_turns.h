/*
 * The cycle that samples are added to. It ends while samples go on: those that are in the ring by
 * then, and were made before, are still its own; later ones are the next cycle's. So a profile has
 * the samples of the time that it says, however long it takes to drain the ring.
 *
 * Used by one thread.
 */
#ifndef NODE_AGENT_SAMPLE_CYCLE_TURNS_H
#define NODE_AGENT_SAMPLE_CYCLE_TURNS_H

#include "common/base.h"
#include "node-agent/sample/cycle.h"

struct cycle_turn {
	struct cycle *cycle;    /* owned; NULL: none */
	uint64_t start_ns;      /* since the Unix epoch */
	uint64_t start_mono_ns; /* as struct event_header.ktime_ns */
};

struct cycle_turns {
	struct cycle_turn current;
	struct cycle_turn next; /* has a cycle while the current one ends */
};

/* A cycle from now on. Returns 0 or -ENOMEM. */
int cycle_turn_begin(struct cycle_turn *ret, const struct cycle_config *cfg) MUST_CHECK;

/* The cycle of a sample that was made at this time. */
struct cycle *cycle_turns_at(const struct cycle_turns *t, uint64_t ktime_ns);

/*
 * The current cycle has ended when the next one began, and is the caller's; the next one is the
 * current one from now on.
 */
struct cycle_turn cycle_turns_end(struct cycle_turns *t, int64_t *ret_duration_ns);

void cycle_turns_fini(struct cycle_turns *t);

#endif /* NODE_AGENT_SAMPLE_CYCLE_TURNS_H */
