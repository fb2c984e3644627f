/*
 * Lines of scripts. Sources may have megabytes, so where lines begin is counted once for some of
 * them: 4 bytes for each 4096 characters.
 */
#ifndef NODE_AGENT_INTERPRETER_V8_LINES_H
#define NODE_AGENT_INTERPRETER_V8_LINES_H

#include "node-agent/interpreter/script_lines.h"
#include "node-agent/interpreter/v8/v8_heap.h"

#define V8_SOURCE_MAX (16u << 20) /* characters; longer ones have no lines */

/* The line of a position in a script, an object; 0: not known. */
uint32_t v8_line_of(struct v8_heap *h, uint64_t script, int64_t position);

#endif /* NODE_AGENT_INTERPRETER_V8_LINES_H */
