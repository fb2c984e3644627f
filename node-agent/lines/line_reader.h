/*
 * Source lines and inlined calls of C, C++ and Rust: the agent's end.
 *
 * DWARF is large, and no library for it was made for files of strangers. So it is read by a program
 * of its own without any right (line_helper.h): what it maps and allocates is limited and returned
 * to the kernel when nobody asks, and what crashes or hangs is that process. It has nothing of the
 * agent's memory.
 *
 * One question at a time: it is asked, and the answer is waited for, in pieces if there is
 * something better to do. One thread owns a reader after line_reader_new().
 */
#ifndef NODE_AGENT_LINES_LINE_READER_H
#define NODE_AGENT_LINES_LINE_READER_H

#include "node-agent/lines/line_answer.h"

/* Of a file; what is larger has no lines. */
#define LINE_READER_FILE_MAX_BYTES ((uint64_t)512 * 1024 * 1024)
/* A larger package is not used. */
#define LINE_READER_PACKAGE_MAX_BYTES ((uint64_t)1024 * 1024 * 1024)

struct line_reader;

/*
 * Starts the program, which is this one unless tests have another: NULL is /proc/self/exe. To be
 * called before a filter of system calls is installed. Returns 0 or -errno.
 */
int line_reader_new(struct line_reader **ret, const char *program) MUST_CHECK;
/* Ends the program. NULL is allowed. */
void line_reader_free(struct line_reader *r);
DEFINE_CLEANUP(struct line_reader *, line_reader_free);

struct line_question {
	uint32_t file; /* equal numbers are equal files */
	int fd;        /* borrowed for the call */
	uint64_t size_bytes;
	uint64_t vaddr;
	uint32_t cpu_ms; /* that the answer may take; the first one of a file reads its units */
	int package_fd;  /* of its package of split DWARF; borrowed as fd; 0 or less: none */
};

/*
 * Asks what the frames of an address are. Returns 0; -EBUSY if the previous question is not
 * answered; -EFBIG if the file is too large; -EPIPE if the program has ended.
 */
int line_reader_ask(struct line_reader *r, const struct line_question *q) MUST_CHECK;

/*
 * Waits for the answer. Returns 0; -ENOENT if nothing is known about the address; -ETIMEDOUT if
 * finding it took more than cpu_ms or LINE_HELPER_WALL_S; -EIO if reading the file crashed, so that
 * it is not to be asked about again; -EAGAIN if there is no answer yet; -ECONNRESET if the process
 * that had the question was killed from outside and there is a new one; -EPIPE if the program has
 * ended.
 */
int line_reader_wait(struct line_reader *r, uint64_t timeout_ns,
		     struct line_answer *ret) MUST_CHECK;

/*
 * CPU time of the last answer, or all of the time that it was waited for if the process that had
 * the question ended. At most that time, whatever the process says.
 */
uint64_t line_reader_cpu_ns(const struct line_reader *r);

#endif /* NODE_AGENT_LINES_LINE_READER_H */
