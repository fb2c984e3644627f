/*
 * Where the interpreter loop of CPython is in a file: the instructions that execute Python's
 * frames. Pure.
 *
 * Compilers split the function: what is rarely run is elsewhere, and in some builds nearly all of
 * it is that. Interpreters built with tail calls have a function for each instruction of the
 * bytecode.
 */
#ifndef NODE_AGENT_INTERPRETER_PYTHON_PYTHON_LOOPS_H
#define NODE_AGENT_INTERPRETER_PYTHON_PYTHON_LOOPS_H

#include "common/base.h"
#include "node-agent/elf/elf_layout.h"
#include "node-agent/interpreter/interpreter_ops.h"

/*
 * function is the address of _PyEval_EvalFrameDefault. Sets ranges that are disjoint and ascend,
 * and returns how many, at least 1; -ENOENT if there is no such function; -ENOMEM; or an error of
 * byte_source_read().
 */
int python_loops_find(const struct elf_layout *layout, const struct byte_source *src,
		      uint64_t function, struct interpreter_range ranges[CHAIN_RANGES]) MUST_CHECK;

#endif /* NODE_AGENT_INTERPRETER_PYTHON_PYTHON_LOOPS_H */
