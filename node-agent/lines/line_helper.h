/*
 * The other end of line_reader.h: a program without rights that reads DWARF (helper_process.h).
 */
#ifndef NODE_AGENT_LINES_LINE_HELPER_H
#define NODE_AGENT_LINES_LINE_HELPER_H

#include "common/err.h"
#include "node-agent/lines/line_answer.h"

#define LINE_HELPER_COMMAND "internal-line-reader"

/* A message to the helper; descriptors of the file and, if it has one, its package go with it. */
#define LINE_REQUEST_FDS 2u

struct line_request {
	uint32_t number; /* counts requests; not 0 */
	uint32_t file;   /* equal numbers are equal files */
	uint64_t vaddr;
	uint32_t cpu_ms; /* CPU time that it may take; the first one of a file reads its units */
};

/* Begins each message from the helper; frames follow (line_answer_encode()). */
struct line_reply {
	uint32_t number;
	int32_t result;  /* 0, -ENOENT, -ETIMEDOUT, or -EIO if reading the file crashed */
	uint64_t cpu_ns; /* that it took; 0: not known */
};

/* Of a request, as disks may be slow. */
#define LINE_HELPER_WALL_S 30
#define LINE_HELPER_IDLE_MS 10000
#define LINE_HELPER_HEAP_MAX_BYTES ((uint64_t)96 * 1024 * 1024)
#define LINE_HELPER_MAPPED_MAX_BYTES ((uint64_t)2 * 1024 * 1024 * 1024)

/*
 * Serves requests from HELPER_PROCESS_SOCKET until its other end is closed. Returns 0, or -errno
 * with a sentence in err if that is no such socket or rights cannot be given up.
 */
int line_helper_run(struct err *err) MUST_CHECK;

#endif /* NODE_AGENT_LINES_LINE_HELPER_H */
