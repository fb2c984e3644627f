/*
 * Name, file and line of a frame of CPython, from its code object in the memory of the process.
 *
 * The memory is another's: it changes while it is read, and may have been made to mislead. What is
 * read is limited by python_text.h and python_lines.h, and a check word, read before and after,
 * shows an object that has been replaced.
 */
#ifndef NODE_AGENT_INTERPRETER_PYTHON_PYTHON_NAMES_H
#define NODE_AGENT_INTERPRETER_PYTHON_PYTHON_NAMES_H

#include "node-agent/interpreter/interpreter_frame.h"
#include "node-agent/interpreter/python_layout.h"

/* As interpreter_ops.name_frame(). */
int python_name_read(const struct python_layout *layout, uint64_t bias,
		     const struct interpreter_memory *memory, const struct interpreter_frame *f,
		     struct interpreter_name *ret) MUST_CHECK;

#endif /* NODE_AGENT_INTERPRETER_PYTHON_PYTHON_NAMES_H */
