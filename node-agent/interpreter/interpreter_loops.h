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
#include "common/elf/elf_layout.h"
#include "node-agent/interpreter/interpreter_ops.h"

/* Whether a symbol of this name is the loop or a part of it. */
typedef bool interpreter_is_loop_fn(const char *name);

/* Whether the name is the function's, with what compilers and BOLT append to parts or without. */
bool interpreter_is_part(const char *name, const char *function);

/*
 * functions are the addresses of the loop's, which is mostly one. Sets ranges that are disjoint and
 * ascend, and returns how many, at least 1; -ENOENT if there is no such function; -ENOMEM; or an
 * error of byte_source_read().
 */
int interpreter_loops_find(const struct elf_layout *layout, const struct byte_source *src,
			   const uint64_t *functions, size_t n_functions,
			   interpreter_is_loop_fn *is_loop,
			   struct interpreter_range ranges[CHAIN_RANGES]) MUST_CHECK;

/*
 * Sets *ret to the functions that the function at this address calls, or goes to as its last step,
 * up to max; those of other files are not among them. Returns how many, -ENOENT if there is no such
 * function, -ENOMEM, or an error of byte_source_read().
 */
int interpreter_calls_find(const struct elf_layout *layout, const struct byte_source *src,
			   uint64_t function, struct interpreter_range *ret, size_t max) MUST_CHECK;

#endif /* NODE_AGENT_INTERPRETER_LOOPS_H */
