/*
 * Readable names of C++ and Rust functions (libiberty), with bounds. Pure.
 *
 * A mangled name comes from a foreign file. Substitutions in it can make the readable form
 * exponentially longer, so demangling ends as soon as the output is full.
 * Stack use is bounded by DEMANGLE_INPUT_MAX_BYTES (under 1 MiB) and libiberty's own depth limit.
 */
#ifndef COMMON_SYMBOLS_DEMANGLE_H
#define COMMON_SYMBOLS_DEMANGLE_H

#include "common/base.h"

/* A longer mangled name is shown as it is. */
#define DEMANGLE_INPUT_MAX_BYTES 4096u

/*
 * Stores the readable name of a symbol: C++ with parameters, Rust (both manglings) without its
 * hash, names of other languages as plain_names.h has them, any other name unchanged. What says
 * that it is a part or a copy of a function is removed, and before that a symbol version
 * ("@GLIBC_2.14"): parts, copies and versions of one function have one name.
 *
 * A name that is longer than cap - 1 bytes is cut between characters and ends with a digest of the
 * symbol, so that different ones stay different. Bytes that are not printable UTF-8 become '?'. It
 * is always NUL-terminated. Returns its length.
 */
size_t demangle(const char *name, char *to, size_t cap);

#endif /* COMMON_SYMBOLS_DEMANGLE_H */
