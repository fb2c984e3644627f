/*
 * What is known about Go executables, for all processes that run them: by content (build id and
 * shape of the file), so that the copies in the images of many containers are one. Bounded: those
 * not used for longest are forgotten. One thread.
 */
#ifndef NODE_AGENT_HEAP_GO_EXECUTABLES_H
#define NODE_AGENT_HEAP_GO_EXECUTABLES_H

#include "common/base.h"
#include "node-agent/heap/go_frames.h"
#include "node-agent/heap/go_image.h"
#include "node-agent/heap/go_target.h"

#define GO_EXECUTABLES_MAX 256u
#define GO_EXECUTABLES_MAX_BYTES ((size_t)16 * 1024 * 1024) /* of frames of all of them */
#define GO_EXECUTABLE_MAX_BYTES ((size_t)8 * 1024 * 1024)   /* of frames of one */

struct go_executables;

struct go_executable {
	unsigned minor; /* 1.minor */
	struct go_addresses at;
	struct go_frames *frames;
};

int go_executables_new(struct go_executables **ret) MUST_CHECK;
void go_executables_free(struct go_executables *x);
DEFINE_CLEANUP(struct go_executables *, go_executables_free);

/*
 * That of an open target; read and searched when it is not known. *ret may be changed, and is
 * borrowed until the next call. -ENOENT: not Go, or its variables cannot be found; -ENOTSUP: a
 * release before 1.13; -ENOMEM; those of byte_source_read().
 */
int go_executables_get(struct go_executables *x, const struct go_target *t,
		       struct go_executable **ret) MUST_CHECK;

#endif /* NODE_AGENT_HEAP_GO_EXECUTABLES_H */
