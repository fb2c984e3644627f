/*
 * A cycle's stacks, named and grouped → one pprof per workload.
 *
 * The stack of a sample is its kernel frames, its user frames (where one is the loop of an
 * interpreter, the frames that this call of the loop executes are in its place), "[truncated]"
 * unless the walk is known to have reached the bottom, and the process's name at the root. If the
 * kernel's own frames are cut, another "[truncated]" stands between them and the user frames. A
 * return address outside every known mapping is not a frame: a walk over code without frame
 * pointers may make it up, so the stack is cut there.
 */
#ifndef NODE_AGENT_PROFILE_CPU_PROFILE_H
#define NODE_AGENT_PROFILE_CPU_PROFILE_H

#include "common/base.h"
#include "common/data/buf.h"
#include "node-agent/profile/chained_locations.h"
#include "node-agent/profile/unwind_report.h"

struct cycle;
struct process_snapshot;
struct symbolizer;
struct workload;

#define CPU_PROFILE_COMMENT_BYTES 96u
#define CPU_PROFILE_COMMENTS_MAX 32u /* of one workload, besides the losses of the node */

/* Texts about a workload that travel with its profile, as comments of the pprof. */
struct cpu_profile_comments {
	char texts[CPU_PROFILE_COMMENTS_MAX][CPU_PROFILE_COMMENT_BYTES];
	size_t n;
};

/* Sets all of ret. */
typedef void cpu_profile_comments_fn(void *ctx, const struct workload *w,
				     struct cpu_profile_comments *ret);

struct cpu_profile_config {
	unsigned hz;
	bool addresses; /* locations with the address of each instruction, and mappings */
	/*
	 * One pprof of all workloads, of the types samples/count and cpu/nanoseconds, as
	 * runtime/pprof has them: a recording.
	 */
	bool whole;
	int64_t end_ns; /* since the Unix epoch */
	int64_t duration_ns;
	cpu_profile_comments_fn *comments; /* NULL: none */
	void *comments_ctx;
	interpreter_name_fn *find_name; /* of frames of interpreters; NULL: none has a name */
	void *name_ctx;
};

/* One workload's pprof. Borrowed; the receiver may take the content of pprof. */
struct workload_profile {
	struct workload *workload;
	struct buf *pprof;
	uint64_t n_samples; /* of the whole profile, with its first pprof; 0 with others */
	uint64_t cost_ns;   /* CPU time that its samples cost in the kernel; likewise */
};

typedef void (*cpu_profile_fn)(void *ctx, const struct workload_profile *p);

struct cpu_profile_result {
	uint64_t n_samples;   /* in the profiles */
	uint64_t n_truncated; /* of these, with a stack not known to be whole */
	uint64_t n_lost;      /* could not be put into a profile: no memory, over a limit */
	uint64_t n_by_outcome[UNWIND_OUTCOME_MAX]; /* n_samples by how the walk ended */
};

/*
 * Calls emit for each pprof: one per workload, unless it is too large for one (stack_profile.h). c
 * is only read. A workload that cannot be encoded is lost and counted; the others are not affected.
 */
void cpu_profile_build(struct cycle *c, struct symbolizer *s, const struct cpu_profile_config *cfg,
		       cpu_profile_fn emit, void *ctx, struct cpu_profile_result *ret);

#endif /* NODE_AGENT_PROFILE_CPU_PROFILE_H */
