/*
 * 20 frames of an interpreter in the memory of this process, as each language has them, for
 * walk_cost: one call of its loop executes them all.
 */
#ifndef TEST_BENCH_CHAINED_FRAMES_H
#define TEST_BENCH_CHAINED_FRAMES_H

#include <linux/types.h>

#include "common/base.h"

#include "bpf/frame_chain.h"

#define CHAINED_FRAMES 20u

struct chained_language {
	const char *name;
	/* Makes the frames, and says where they are: all of the layout but the loop. */
	void (*make)(struct chain_layout *l);
	uint16_t n_entries; /* in a record */
};

/* What every language has, and less than any: a linked list, and one word that is checked. */
extern const struct chained_language chained_plain;
/* By name, NULL at the end. */
extern const struct chained_language *const chained_languages[];

#endif /* TEST_BENCH_CHAINED_FRAMES_H */
