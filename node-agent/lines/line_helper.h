/* The other end of line_reader.h: a process that reads DWARF. */
#ifndef NODE_AGENT_LINES_LINE_HELPER_H
#define NODE_AGENT_LINES_LINE_HELPER_H

#include "node-agent/lines/line_answer.h"

/* A message to the helper; the file's descriptor goes with it. */
struct line_request {
	uint32_t number; /* counts requests */
	uint32_t file;   /* equal numbers are equal files */
	uint64_t vaddr;
};

/* Begins each message from the helper; frames follow (line_answer_encode()). */
struct line_reply {
	uint32_t number;
	int32_t result; /* 0, -ENOENT, or -EIO if reading the file crashed or took too long */
};

/* CPU time of one request. The first one of a file reads its units. */
#define LINE_HELPER_CPU_S 2
#define LINE_HELPER_IDLE_MS 10000
#define LINE_HELPER_HEAP_MAX_BYTES ((uint64_t)48 * 1024 * 1024)
#define LINE_HELPER_MAPPED_MAX_BYTES ((uint64_t)2 * 1024 * 1024 * 1024)

/* Serves requests from the socket until its other end is closed. For a process made by fork(2). */
_Noreturn void line_helper_run(int socket);

#endif /* NODE_AGENT_LINES_LINE_HELPER_H */
