/*
 * The goroutines of one Go process, read from its memory. It is not stopped, and nothing is written to it. Everything read is
 * untrusted: lengths, counts and time are limited. One thread.
 */
#ifndef NODE_AGENT_GO_GOROUTINE_GOROUTINE_READER_H
#define NODE_AGENT_GO_GOROUTINE_GOROUTINE_READER_H

#include "common/base.h"
#include "common/data/buf.h"
#include "node-agent/go/image/go_runtime.h"

#define GOROUTINE_READER_MAX_NS ((uint64_t)5 * 1000 * 1000 * 1000)
#define GOROUTINE_READER_STACKS_BYTES ((uint64_t)1024 * 1024 * 1024) /* copied in a reading */
#define GOROUTINE_READER_GROUPS_BYTES ((size_t)64 * 1024 * 1024)     /* while a profile is made */
#define GOROUTINE_READER_PROFILE_BYTES ((size_t)128 * 1024 * 1024)   /* and of that */

struct goroutine_reader_config {
	bool wait_reasons; /* as the leaf: "[chan receive]" */
	int64_t duration_ns; /* up to now, for which the profile stands when it is averaged with others */
};

struct goroutine_reading {
	size_t n_samples;      /* 0: no profile */
	uint64_t n_goroutines; /* the program's: the sum of the profile's values */
	/* of these, counted without a stack */
	uint64_t n_running;    /* it changes all the time */
	uint64_t n_moved;      /* moved while they were read, twice */
	uint64_t n_limited;    /* stacks are more than GOROUTINE_READER_STACKS_BYTES */
	uint64_t n_unreadable; /* the stack cannot be read */
	/* of these, with some of the calls nearest to the leaf, and "[truncated]" behind */
	uint64_t n_broken; /* the stack is not understood */
	uint64_t n_cut;    /* there are too many */
	/* not of these */
	uint64_t n_bad; /* what is listed is no goroutine */
};

/*
 * Appends the pprof of type go:goroutine_goroutine:count to out; goroutines without a stack are a frame like
 * "[running]" in the function that they started with. 0; -ENOTSUP: this release is not known; -EBADMSG: no
 * goroutines; -E2BIG: more of them than GOROUTINE_MAX; -ETIME; errors of go_runtime_find() and stack_profile_add(); then out may have
 * been changed.
 */
int goroutine_reader_read(struct go_runtime *rt, const struct goroutine_reader_config *cfg,
			  struct buf *out, struct goroutine_reading *ret) MUST_CHECK;

/*
 * Appends them as text for people: a paragraph for each place where some are, the largest first. now_ns: on the process's
 * CLOCK_MONOTONIC; 0: not known, and for how long they have waited is not told. Results as above.
 */
int goroutine_reader_text(struct go_runtime *rt, uint64_t now_ns, struct buf *out,
			  struct goroutine_reading *ret) MUST_CHECK;

/* How many the program has: runtime.NumGoroutine(). Results as above. */
int goroutine_reader_count(struct go_runtime *rt, uint64_t *ret) MUST_CHECK;

#endif /* NODE_AGENT_GO_GOROUTINE_GOROUTINE_READER_H */
