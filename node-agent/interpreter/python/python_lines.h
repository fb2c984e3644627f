/*
 * The line of an instruction, from the table of its code object. Pure; the table may have any
 * bytes.
 */
#ifndef NODE_AGENT_INTERPRETER_PYTHON_PYTHON_LINES_H
#define NODE_AGENT_INTERPRETER_PYTHON_PYTHON_LINES_H

#include "common/base.h"
#include "node-agent/interpreter/python_layout.h"

#define PYTHON_LINES_TABLE_MAX 65536u

/*
 * offset_bytes is that of the instruction in the bytecode, first_line that of the code object.
 * Returns 0 if the instruction has no line, or the table does not reach to it.
 */
uint32_t python_line_of(enum python_line_format format, const uint8_t *table, size_t len,
			uint32_t first_line, uint32_t offset_bytes);

#endif /* NODE_AGENT_INTERPRETER_PYTHON_PYTHON_LINES_H */
