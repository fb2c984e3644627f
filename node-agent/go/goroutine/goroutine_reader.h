/*
 * Reads the goroutines of one Go process from its memory. The process is not stopped, and
 * nothing is written to it. Everything read is untrusted: lengths, counts and time are
 * limited. For one thread.
 */
#ifndef NODE_AGENT_GO_GOROUTINE_GOROUTINE_READER_H
#define NODE_AGENT_GO_GOROUTINE_GOROUTINE_READER_H

#include "common/base.h"
#include "common/data/buf.h"
#include "node-agent/go/image/go_runtime.h"

#define GOROUTINE_READER_MAX_NS ((uint64_t)5 * 1000 * 1000 * 1000)
#define GOROUTINE_READER_STACKS_BYTES ((uint64_t)1024 * 1024 * 1024) /* copied per reading */
#define GOROUTINE_READER_GROUPS_BYTES ((size_t)64 * 1024 * 1024)     /* for groups, and */
#define GOROUTINE_READER_PROFILE_BYTES ((size_t)128 * 1024 * 1024) /* for the pprof, per reading */

struct goroutine_reader_config {
	bool wait_reasons;   /* add a leaf frame such as "[chan receive]" */
	int64_t duration_ns; /* duration of the pprof: the time up to now that it stands for */
	struct stack_profile_parts *more; /* borrowed; as in struct stack_profile_config */
};

struct goroutine_reading {
	size_t n_samples;      /* 0 if there is no profile */
	uint64_t n_goroutines; /* the program's: the sum of the profile's values */
	/* of these, counted without a stack */
	uint64_t n_running;    /* running, so the stack changes all the time */
	uint64_t n_moved;      /* moved during every attempt to read them */
	uint64_t n_limited;    /* beyond GOROUTINE_READER_STACKS_BYTES of stacks */
	uint64_t n_unreadable; /* whose stack cannot be read */
	/* of these, with the frames nearest to the leaf, followed by "[truncated]" */
	uint64_t n_broken; /* whose stack cannot be unwound further */
	uint64_t n_cut;    /* with too many frames or bytes */
	/* in addition to these */
	uint64_t n_bad; /* entries of the list that are no goroutines */
};

/*
 * Appends a pprof of type go:goroutine_goroutine:count to out. Goroutines without a stack get
 * a frame such as "[running]", called by their start function. Returns 0, -ENOTSUP if the
 * release is unknown, -EBADMSG if there are no goroutines, -E2BIG if there are more than
 * GOROUTINE_MAX, -ETIME, or an error of go_runtime_find() or stack_profile_add(); out may
 * have been changed then.
 */
int goroutine_reader_read(struct go_runtime *rt, const struct goroutine_reader_config *cfg,
			  struct buf *out, struct goroutine_reading *ret) MUST_CHECK;

/*
 * Appends text for humans: a paragraph per group of goroutines, the largest first. now_ns is
 * on the process's CLOCK_MONOTONIC, or 0 if that is unknown: then the text does not say for
 * how long they have waited. Returns the same as above.
 */
int goroutine_reader_text(struct go_runtime *rt, uint64_t now_ns, struct buf *out,
			  struct goroutine_reading *ret) MUST_CHECK;

/* The number of goroutines as runtime.NumGoroutine() returns it. Returns the same as above. */
int goroutine_reader_count(struct go_runtime *rt, uint64_t *ret) MUST_CHECK;

#endif /* NODE_AGENT_GO_GOROUTINE_GOROUTINE_READER_H */
