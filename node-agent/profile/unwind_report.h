/*
 * How the walks over the stacks of one workload ended: samples by outcome, and by the binary in
 * which a walk ended too early. Pure.
 *
 * It travels as comments of the workload's pprof: "unwind:complete=950", "unwind:no_table=50",
 * "unwind:no_table:libfoo.so=50" for the binary, and "unwind:seen:libfoo.so=400", the samples
 * whose stack has a frame of it. Numbers of binaries and of texts are bounded; binaries that end
 * the most walks come first.
 */
#ifndef NODE_AGENT_PROFILE_UNWIND_REPORT_H
#define NODE_AGENT_PROFILE_UNWIND_REPORT_H

#include "common/base.h"
#include "node-agent/sample/sampler.h"

/* The names are part of profiles, metrics and the API. */
enum unwind_outcome {
	UNWIND_COMPLETE, /* from the leaf to the start of the thread */
	UNWIND_GUESSED,  /* likewise, but steps were guesses: callers may be missing */
	UNWIND_DEPTH_LIMIT,
	UNWIND_UNREADABLE,
	UNWIND_NOT_ASCENDING,
	UNWIND_BAD_ADDRESS,
	UNWIND_COMPAT,
	UNWIND_GONE,
	UNWIND_NO_UNWIND_INFO,
	UNWIND_NO_TABLE,
	UNWIND_NO_MAPPING,
	UNWIND_JIT,
	UNWIND_IMPLAUSIBLE, /* what seemed to be the next frame cannot be one */
	UNWIND_UNPROVEN,    /* the walk found an end, but nothing shows that it is the bottom */
	UNWIND_KERNEL,      /* the user stack is complete, but the kernel's own frames are cut */
	UNWIND_OUTCOME_MAX,
};

#define UNWIND_REPORT_BINARIES 256u  /* counted; further ones are not */
#define UNWIND_REPORT_SHOWN 10u      /* binaries that are written */
#define UNWIND_REPORT_NAME_BYTES 40u /* longer names are cut */
#define UNWIND_REPORT_TEXTS 64u
#define UNWIND_REPORT_TEXT_BYTES 96u

const char *unwind_outcome_name(enum unwind_outcome o);

/* That of a walk that did not come to the bottom; if it seems that it did: UNWIND_UNPROVEN. */
enum unwind_outcome unwind_outcome_of_end(enum walk_end end);

/* Whether all of the user stack was walked. */
static inline bool unwind_reached_bottom(enum unwind_outcome o)
{
	return o == UNWIND_COMPLETE || o == UNWIND_GUESSED || o == UNWIND_KERNEL;
}

struct unwind_report;

/* -ENOMEM is the only failure. */
int unwind_report_new(struct unwind_report **ret) MUST_CHECK;
void unwind_report_free(struct unwind_report *r);
DEFINE_CLEANUP(struct unwind_report *, unwind_report_free);

/* The number of a binary by its path, for the calls below; 0 if no more can be counted. */
uint32_t unwind_report_binary(struct unwind_report *r, const char *path);

/* The stack being added has a frame of it. Any order, also repeatedly. */
void unwind_report_see(struct unwind_report *r, uint32_t binary);
/* Ends the stack; last is the binary of its outermost user frame, or 0. */
void unwind_report_add(struct unwind_report *r, enum unwind_outcome o, uint32_t last,
		       uint64_t n_samples);

uint64_t unwind_report_count(const struct unwind_report *r, enum unwind_outcome o);

/* Returns the number of texts written. */
size_t unwind_report_write(const struct unwind_report *r,
			   char texts[UNWIND_REPORT_TEXTS][UNWIND_REPORT_TEXT_BYTES]);

#endif /* NODE_AGENT_PROFILE_UNWIND_REPORT_H */
