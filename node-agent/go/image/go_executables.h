/*
 * A cache of what was learned about Go executables: release, addresses of variables, names of
 * code. Shared by all processes that run the same content, wherever the file lies, so that
 * copies of it in the images of many containers count as one. Bounded; the least recently
 * used are evicted. For one thread.
 */
#ifndef NODE_AGENT_GO_IMAGE_GO_EXECUTABLES_H
#define NODE_AGENT_GO_IMAGE_GO_EXECUTABLES_H

#include "common/base.h"
#include "node-agent/go/pclntab/go_frames.h"
#include "node-agent/target/program_target.h"

#define GO_EXECUTABLES_MAX 256u
#define GO_EXECUTABLES_MAX_BYTES ((size_t)16 * 1024 * 1024) /* for the frames of all of them */
#define GO_EXECUTABLE_MAX_BYTES ((size_t)8 * 1024 * 1024)   /* for the frames of one */

struct go_executables;

#define GO_EXECUTABLES_MINOR_MIN 13u /* the first release that is supported */

/* Variables of package runtime. */
enum go_variable {
	GO_MODULE_DATA,       /* firstmoduledata */
	GO_MEMORY_BUCKETS,    /* mbuckets */
	GO_MEMORY_RATE,       /* MemProfileRate */
	GO_MEMORY_DISABLED,   /* disableMemoryProfiling; since 1.17 */
	GO_BLOCK_BUCKETS,     /* bbuckets */
	GO_BLOCK_RATE,        /* blockprofilerate */
	GO_MUTEX_BUCKETS,     /* xbuckets */
	GO_MUTEX_RATE,        /* mutexprofilerate */
	GO_ALL_GOROUTINES,    /* allgs */
	GO_WAIT_REASONS,      /* waitReasonStrings */
	GO_MEMORY_STATISTICS, /* memstats */
	GO_GC_CONTROLLER,     /* gcController */
	GO_VARIABLES,
};

struct go_executable {
	unsigned minor;                /* the release is 1.minor */
	uint32_t searched;             /* a bit per variable that was searched for, found or not */
	uint64_t at[GO_VARIABLES];     /* addresses without the load bias; 0 if not found */
	struct go_module_shape module; /* of the process in which they were found */
	struct go_frames *frames;
};

/* Returns 0 or -ENOMEM. */
int go_executables_new(struct go_executables **ret) MUST_CHECK;
void go_executables_free(struct go_executables *x);
DEFINE_CLEANUP(struct go_executables *, go_executables_free);

/*
 * Returns the entry of an open target in *ret, which is borrowed until the next call and may
 * be changed by the caller. If there is none, examines the file and adds one. Returns 0,
 * -ENOENT if it is not a Go program or has no module data, -ENOTSUP for a release before
 * 1.13, -ENOMEM, or an error of byte_source_read().
 */
int go_executables_get(struct go_executables *x, const struct program_target *t,
		       struct go_executable **ret) MUST_CHECK;

#endif /* NODE_AGENT_GO_IMAGE_GO_EXECUTABLES_H */
