/*
 * What is known about Go executables, for all processes that run them: by content (build id and
 * shape of the file), so that the copies in the images of many containers are one. Bounded: those
 * not used for longest are forgotten. One thread.
 */
#ifndef NODE_AGENT_GO_IMAGE_GO_EXECUTABLES_H
#define NODE_AGENT_GO_IMAGE_GO_EXECUTABLES_H

#include "common/base.h"
#include "node-agent/go/pclntab/go_frames.h"
#include "node-agent/go/target/go_target.h"

#define GO_EXECUTABLES_MAX 256u
#define GO_EXECUTABLES_MAX_BYTES ((size_t)16 * 1024 * 1024) /* of frames of all of them */
#define GO_EXECUTABLE_MAX_BYTES ((size_t)8 * 1024 * 1024)   /* of frames of one */

struct go_executables;

#define GO_EXECUTABLES_MINOR_MIN 13u /* the first release whose structures are known */

/* Variables of the runtime, by their names there. */
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
	unsigned minor;            /* 1.minor */
	uint32_t sought;           /* a bit per variable */
	uint64_t at[GO_VARIABLES]; /* without the bias: the same in each process; 0: not found */
	struct go_module_shape module; /* of the process in which they were found */
	struct go_frames *frames;
};

int go_executables_new(struct go_executables **ret) MUST_CHECK;
void go_executables_free(struct go_executables *x);
DEFINE_CLEANUP(struct go_executables *, go_executables_free);

/*
 * That of an open target; read and searched when it is not known. *ret may be changed, and is
 * borrowed until the next call. -ENOENT: not Go, or without module data; -ENOTSUP: a
 * release before 1.13; -ENOMEM; those of byte_source_read().
 */
int go_executables_get(struct go_executables *x, const struct go_target *t,
		       struct go_executable **ret) MUST_CHECK;

#endif /* NODE_AGENT_GO_IMAGE_GO_EXECUTABLES_H */
