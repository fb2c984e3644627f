/*
 * Where the loop of an interpreter is in a file: the instructions that execute its frames. Pure.
 *
 * Compilers split the function: what is rarely run is elsewhere, and in some builds nearly all of
 * it is that. Interpreters built with tail calls have a function for each instruction of the
 * bytecode.
 */
#ifndef NODE_AGENT_INTERPRETER_LOOPS_H
#define NODE_AGENT_INTERPRETER_LOOPS_H

#include "common/base.h"
#include "node-agent/elf/elf_layout.h"
#include "node-agent/interpreter/interpreter_ops.h"

/* Whether a symbol of this name is the loop or a part of it. */
typedef bool interpreter_is_loop_fn(const char *name);

/* Whether the name is the function's, with what compilers and BOLT append to parts or without. */
bool interpreter_is_part(const char *name, const char *function);

/*
 * function is the address of the loop's function. Sets ranges that are disjoint and ascend, and
 * returns how many, at least 1; -ENOENT if there is no such function; -ENOMEM; or an error of
 * byte_source_read().
 */
int interpreter_loops_find(const struct elf_layout *layout, const struct byte_source *src,
			   uint64_t function, interpreter_is_loop_fn *is_loop,
			   struct interpreter_range ranges[CHAIN_RANGES]) MUST_CHECK;

#endif /* NODE_AGENT_INTERPRETER_LOOPS_H */
