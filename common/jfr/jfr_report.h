/*
 * Groups of events → stacks with names: the second pass over a chunk. Pure.
 */
#ifndef COMMON_JFR_JFR_REPORT_H
#define COMMON_JFR_JFR_REPORT_H

#include "common/base.h"
#include "common/data/arena.h"
#include "common/jfr/jfr_constants.h"
#include "common/jfr/jfr_events.h"
#include "common/jfr/jfr_groups.h"
#include "common/jfr/jfr_names.h"
#include "common/jfr/jfr_stacks.h"

#define JFR_FRAME_TYPES_MAX 32u

struct jfr_report {
	const struct jfr_stacks_config *cfg;   /* borrowed */
	struct jfr_result *result;             /* borrowed */
	const struct jfr_constants *constants; /* borrowed; of the chunk */
	const struct jfr_events *events;       /* borrowed */
	struct jfr_frame *frames;              /* borrowed, JFR_STACK_DEPTH_MAX */
	uint32_t batch;

	struct jfr_groups *groups;
	struct jfr_names names;
	struct jfr_plan stack_plan, frame_plan;
	size_t frames_op; /* of stack_plan */
	struct {
		uint64_t id;
		enum jfr_frame_type type;
		bool inlined;
	} frame_types[JFR_FRAME_TYPES_MAX];
	size_t n_frame_types;
	uint64_t default_state; /* id of the thread state of CPU samples */
	int error;              /* of cfg->stack() */
};

/*
 * Reports all groups, with names from the constant pools; memory for names is allocated in a.
 * n_bytes: size of the chunk. Returns 0, -ENOMEM, -EBADMSG if constants are broken, or an error of
 * the source or of cfg->stack().
 */
int jfr_report_groups(struct jfr_report *rep, struct jfr_groups *groups, struct arena *a,
		      uint64_t n_bytes) MUST_CHECK;

/* Reports n_events added up in s as a stack of a single frame, "[other]". Returns as stack(). */
int jfr_report_other(struct jfr_report *rep, const struct jfr_sample *s,
		     uint32_t n_events) MUST_CHECK;

#endif /* COMMON_JFR_JFR_REPORT_H */
