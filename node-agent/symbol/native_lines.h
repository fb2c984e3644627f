/*
 * Source lines and inlined calls of native code for the symbolizer, and when they are looked up.
 *
 * A profile that is being built waits for lines a second at most, OBJECT_LINES_NS of it for one
 * file, and not at all for files that are large. Addresses that have no answer by then are
 * remembered, and asked about between profiles, so that the next profile has their lines: file by
 * file, the one first that has had the least time, each 5 s and all together 20 s a minute. Answers
 * go into the frame cache, in place of the location without a line. What no room is left for is
 * counted, and is asked about when the address is next sampled.
 *
 * Of the addresses that are remembered, those with the most samples are first. With a budget
 * (line_budget.h), a profile waits 0.3 s at most, and all of this ends when it is spent.
 */
#ifndef NODE_AGENT_SYMBOL_NATIVE_LINES_H
#define NODE_AGENT_SYMBOL_NATIVE_LINES_H

#include "common/base.h"
#include "node-agent/symbol/frame_cache.h"

#define NATIVE_LINES_FILES_MAX 64u
#define NATIVE_LINES_ADDRESSES_MAX 8192u /* remembered, of all files */
/* A larger file is opened between profiles only. */
#define NATIVE_LINES_AT_ONCE_MAX_BYTES ((uint64_t)64 * 1024 * 1024)

struct native_lines;

/* A file with DWARF; all borrowed for the call. */
struct native_lines_file {
	uint32_t number; /* of the file that has the address, as in the frame cache */
	int fd;          /* of the file that has the DWARF: the same one, or its debug file */
	int package_fd;  /* of its package of split DWARF; 0 or less: none */
	uint64_t size_bytes;
	const char *label; /* the file of a function whose source file is unknown */
	uint32_t weight;   /* of the address that is asked about: its samples */
	uint64_t *left_ns; /* that profiles may wait for this file in this cycle */
};

/*
 * Starts the program that reads DWARF; program as in line_reader_new(). The cache is borrowed.
 * Returns 0 or -errno.
 */
int native_lines_new(struct native_lines **ret, struct frame_cache *cache,
		     const char *program) MUST_CHECK;
/* NULL is allowed. */
void native_lines_free(struct native_lines *n);
DEFINE_CLEANUP(struct native_lines *, native_lines_free);

/* From here on, CPU time is spent within a budget, of which so much may be spent at once. */
void native_lines_limit(struct native_lines *n, int64_t left_ns);

/* Profiles wait this many times as long, 1 or more, for each file and in all: no other follows. */
void native_lines_set_patience(struct native_lines *n, unsigned times);

/*
 * Finds the location of vaddr, and stores it in the cache, without its address. function is the
 * readable name of the function that has the address, as symbol tables have it; NULL: they have
 * none. Returns 0; -ENOENT if DWARF does not have it; -EINPROGRESS if it will be asked about
 * between profiles; -EAGAIN if there is no room to remember that; -ENOSPC if the cache is full;
 * -ENOMEM; -EFBIG or -EIO if the file is too large, or reading it crashed or took too long, so that
 * it is not to be asked about again; -EPIPE if the program has ended.
 */
int native_lines_find(struct native_lines *n, const struct native_lines_file *f, uint64_t vaddr,
		      const char *function, const struct symbol_location **ret) MUST_CHECK;

/*
 * Asks about addresses that are remembered, and stores what is answered within timeout_ns. To be
 * called while no profile is being built. Returns 1 if there is more to do now, 0 if not, or
 * -EPIPE if the program has ended.
 */
int native_lines_work(struct native_lines *n, uint64_t timeout_ns) MUST_CHECK;

/* The next cycle has all of its time. */
void native_lines_end_cycle(struct native_lines *n);

#endif /* NODE_AGENT_SYMBOL_NATIVE_LINES_H */
