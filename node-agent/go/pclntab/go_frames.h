/*
 * Return addresses of one Go executable → function, file and line, kept from one process of it to
 * the next. Implements struct frame_resolver (frame_resolver.h). One thread.
 *
 * A name is given to another process only if it was read from the file, and that process has its tables at the
 * same place of the file: what a process writes into its own memory changes no names but its own.
 */
#ifndef NODE_AGENT_GO_PCLNTAB_GO_FRAMES_H
#define NODE_AGENT_GO_PCLNTAB_GO_FRAMES_H

#include "common/base.h"
#include "node-agent/go/pclntab/go_module.h"
#include "node-agent/profile/frame_resolver.h"

#define GO_FRAMES_ORIGINS_MAX 64u /* processes whose names are their own, and places of tables */

struct go_frames;

/* A process: modules are borrowed until the next go_frames_begin(). */
struct go_frames_process {
	const struct go_module *modules; /* the executable's first, then plugins */
	size_t n_modules;
	pid_t pid;
	uint64_t start_time;
	uint64_t bias;  /* of the executable */
	unsigned minor; /* of the release: 1.minor */
	uint64_t
		deadline_ns; /* on clock_monotonic_ns(), for what is not known yet; UINT64_MAX: none */
};

/* max_bytes of memory for addresses, and as much for texts. -ENOMEM. */
int go_frames_new(struct go_frames **ret, size_t max_bytes) MUST_CHECK;
void go_frames_free(struct go_frames *f);
DEFINE_CLEANUP(struct go_frames *, go_frames_free);

/*
 * From now on of this process; the texts of earlier ones are not in use any more, and are
 * forgotten when they take more than half of what is allowed. -ENOMEM.
 */
int go_frames_begin(struct go_frames *f, const struct go_frames_process *p) MUST_CHECK;

/* ctx is f. runtime.goexit, where every goroutine begins, is no frame. Results of resolve: 0, -ENOMEM, -ENOBUFS, -ETIME, those of byte_source_read(). */
struct frame_resolver go_frames_resolver(struct go_frames *f);

size_t go_frames_bytes(const struct go_frames *f);

#endif /* NODE_AGENT_GO_PCLNTAB_GO_FRAMES_H */
