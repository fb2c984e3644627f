/*
 * Readable names of C++ and Rust functions (libiberty), with bounds. Pure.
 *
 * A mangled name comes from a foreign file. Substitutions in it can make the readable form
 * exponentially longer, so the work ends when the output is full, whatever is left of the input.
 * Stack use is bounded by DEMANGLE_INPUT_MAX_BYTES (under 1 MiB) and libiberty's own depth limit.
 */
#ifndef NODE_AGENT_SYMBOL_DEMANGLE_H
#define NODE_AGENT_SYMBOL_DEMANGLE_H

#include "common/base.h"

/* A longer mangled name is shown as it is. */
#define DEMANGLE_INPUT_MAX_BYTES 4096u

/*
 * The name of a symbol as people know it, into to: C++ with parameters and without clone
 * suffixes, Rust (both manglings) without its hash, any other name unchanged. A symbol version
 * ("@GLIBC_2.14") is taken off first. Cut to cap - 1 bytes at a character's border; bytes that
 * are not printable UTF-8 become '?'. Always NUL-terminated; returns the length.
 */
size_t demangle(const char *name, char *to, size_t cap);

#endif /* NODE_AGENT_SYMBOL_DEMANGLE_H */
