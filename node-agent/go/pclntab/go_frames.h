/*
 * Return addresses of one Go executable → function, file and line, cached for all processes
 * that run it. Implements struct frame_resolver (frame_resolver.h). For one thread.
 *
 * A cached name is used for another process only if it was read from the file, and that
 * process has its tables at the same place of the file. A process that writes into its own
 * memory can change its own names only.
 */
#ifndef NODE_AGENT_GO_PCLNTAB_GO_FRAMES_H
#define NODE_AGENT_GO_PCLNTAB_GO_FRAMES_H

#include "common/base.h"
#include "node-agent/go/pclntab/go_module.h"
#include "node-agent/profile/frame_resolver.h"

/*
 * Distinct origins of names: places of tables in the file, and processes with tables of their
 * own.
 */
#define GO_FRAMES_ORIGINS_MAX 64u

struct go_frames;

/* A process whose addresses are named; modules are borrowed until the next go_frames_begin(). */
struct go_frames_process {
	const struct go_module *modules; /* the executable's first, then plugins */
	size_t n_modules;
	pid_t pid;
	uint64_t start_time;
	uint64_t bias;  /* of the executable */
	unsigned minor; /* the release is 1.minor */
	/* for names not cached yet; on clock_effort_ns(), UINT64_MAX if none */
	uint64_t deadline_ns;
};

/* max_bytes limits the memory for addresses, and again that for texts. Returns 0 or -ENOMEM. */
int go_frames_new(struct go_frames **ret, size_t max_bytes) MUST_CHECK;
void go_frames_free(struct go_frames *f);
DEFINE_CLEANUP(struct go_frames *, go_frames_free);

/*
 * Starts naming addresses of this process. Texts returned for earlier ones become invalid:
 * the cache is emptied if it is more than half full. Returns 0 or -ENOMEM.
 */
int go_frames_begin(struct go_frames *f, const struct go_frames_process *p) MUST_CHECK;

/*
 * A resolver for the current process. It leaves out runtime.goexit, in which every goroutine
 * begins. Its resolve() returns 0, -ENOMEM, -ENOBUFS if the cache is full, -ETIME after the
 * deadline, or an error of byte_source_read().
 */
struct frame_resolver go_frames_resolver(struct go_frames *f);

/* Memory in use. */
size_t go_frames_bytes(const struct go_frames *f);

#endif /* NODE_AGENT_GO_PCLNTAB_GO_FRAMES_H */
