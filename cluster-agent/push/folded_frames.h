/*
 * One stack as text, "root;caller;leaf", → a sample of a profile. Pure; foreign data.
 *
 * Frames may say where they are: "leaf (file.py:12)" (py-spy), "leaf - file.rb:12" (rbspy),
 * "file.py:leaf:12" (Austin), "leaf (libfoo.so)", and "leaf_[k]" (perf) for the kernel. Blanks
 * around frames and empty frames are skipped.
 */
#ifndef CLUSTER_AGENT_PUSH_FOLDED_FRAMES_H
#define CLUSTER_AGENT_PUSH_FOLDED_FRAMES_H

#include "cluster-agent/push/profile_builder.h"
#include "common/base.h"

/* What values are of formats that do not say it. */
struct folded_unit {
	const char *type; /* "cpu", … and its unit, as other tools name them (foreign_types.h) */
	const char *unit;
	int64_t factor; /* by which values are multiplied to be in that unit */
	bool is_period; /* values count samples, each of which stands for the factor */
};

/*
 * Adds a sample with that one value. A stack beyond LIMIT_PPROF_STACK_DEPTH loses the frames
 * nearest to the root, which is counted in the losses of the builder's profile. Returns as
 * profile_builder_add_sample().
 */
int folded_frames_add(struct profile_builder *b, const char *stack, size_t len, bool is_austin,
		      int64_t value) MUST_CHECK;

/*
 * One frame of such a text, for those who keep stacks themselves, and the frame that stands for
 * those nearest to the root that were cut, which is counted. Return as
 * profile_builder_add_frame(); 1 if there are only blanks.
 */
int folded_frames_add_frame(struct profile_builder *b, const char *text, size_t len,
			    uint32_t *ret_location) MUST_CHECK;
int folded_frames_add_truncated(struct profile_builder *b, uint32_t *ret_location) MUST_CHECK;

/* The value in the unit; beyond 63 bits it is INT64_MAX, which is counted. */
int64_t folded_unit_apply(const struct folded_unit *unit, uint64_t value,
			  struct profile_losses *losses);

/*
 * Gives the profile its one type, and a period if values count samples. Texts are borrowed. Returns
 * 0, -EFBIG or -ENOMEM.
 */
int folded_unit_set(struct profile *p, const struct folded_unit *unit) MUST_CHECK;

#endif /* CLUSTER_AGENT_PUSH_FOLDED_FRAMES_H */
