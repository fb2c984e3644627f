/*
 * Source lines and inlined calls of C, C++ and Rust: the agent's end.
 *
 * DWARF is large, and no library for it was made for files of strangers. So it is read by a process
 * of its own without any right (line_helper.h): what it maps and allocates is limited and returned
 * to the kernel when nobody asks, and what crashes or hangs is that process. A file that did
 * that is not asked about again.
 *
 * One thread owns a reader after line_reader_new(). Its calls wait for answers, within limits of
 * time: each, and all of a cycle together.
 */
#ifndef NODE_AGENT_LINES_LINE_READER_H
#define NODE_AGENT_LINES_LINE_READER_H

#include "node-agent/lines/line_answer.h"

#define LINE_READER_CYCLE_NS (UINT64_C(1) * 1000 * 1000 * 1000)
/* Of a file; what is larger has no lines. */
#define LINE_READER_FILE_MAX_BYTES ((uint64_t)512 * 1024 * 1024)

struct line_reader;

/* Starts the process; to be called before other threads start. Returns 0 or -errno. */
int line_reader_new(struct line_reader **ret) MUST_CHECK;
/* Ends the process. NULL is allowed. */
void line_reader_free(struct line_reader *r);
DEFINE_CLEANUP(struct line_reader *, line_reader_free);

/*
 * Finds the frames of an address of the file at fd, which is borrowed; equal numbers are equal
 * files. Returns 0; -ENOENT if nothing is known about the address; -EAGAIN if there is no time left
 * in this cycle; -EFBIG if the file is too large, or -EIO if reading it failed: it is not to be
 * asked about again; -EPIPE if the process has ended.
 */
int line_reader_find(struct line_reader *r, uint32_t file, int fd, uint64_t size_bytes,
		     uint64_t vaddr, struct line_answer *ret) MUST_CHECK;

/* The next cycle has all of its time. */
void line_reader_end_cycle(struct line_reader *r);

#endif /* NODE_AGENT_LINES_LINE_READER_H */
