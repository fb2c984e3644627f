/*
 * A recording in the terminal: the functions that took most, how many stacks are whole, and values
 * as people read them. Pure.
 */
#ifndef NODE_AGENT_RECORD_RECORD_REPORT_H
#define NODE_AGENT_RECORD_RECORD_REPORT_H

#include "common/base.h"
#include "common/data/buf.h"
#include "common/flame/flame_svg.h"
#include "common/flame/flame_tree.h"
#include "common/pprof/profile.h"

/* Which of a pprof's types is shown, and as what. */
struct record_type {
	uint32_t index;
	bool is_cpu;      /* type 0 is then the number of samples */
	bool by_total;    /* functions that have most below them come first */
	const char *name; /* of the profile: "ebpf:cpu:nanoseconds", as the page knows it */
	const char *unit; /* "nanoseconds", "bytes" or "count" */
	const char *what; /* "CPU time", "memory in use", "goroutines" */
	void (*format)(int64_t value, char ret[static FLAME_SVG_VALUE_BYTES]);
};

/* Finds it by the names of the types; the last one if none is known. */
void record_type_find(const struct profile *p, struct record_type *ret);

/* Stacks that may lack frames. */
struct record_stacks {
	uint64_t n;         /* samples */
	uint64_t n_cut;     /* whose stack is not known to be whole */
	uint64_t n_guessed; /* whole, but callers may be missing in between */
};

/* From the comments "unwind:<end>=<count>" (unwind_report.h). */
void record_stacks_count(const struct profile *p, struct record_stacks *ret);

#define RECORD_REPORT_FUNCTIONS 20u

/* Appends the table. width: columns of the terminal. Returns 0, -ENOMEM or -EFBIG. */
int record_report_write(struct buf *out, const struct flame_view *v, const struct record_type *type,
			unsigned width) MUST_CHECK;

#endif /* NODE_AGENT_RECORD_RECORD_REPORT_H */
