/* Symbols by which a file is known to have an interpreter, and what else is found by name. Pure. */
#ifndef NODE_AGENT_INTERPRETER_SYMBOLS_H
#define NODE_AGENT_INTERPRETER_SYMBOLS_H

#include "common/base.h"
#include "common/elf/elf_layout.h"

/*
 * Sets vaddrs[i] to the address of names[i], or to 0: among the symbols that the file exports, or
 * if it exports none of these, among all. Returns how many were found, or an error of
 * elf_exports_find().
 */
int interpreter_symbols_find(const struct elf_layout *layout, const struct byte_source *src,
			     const char *const *names, uint64_t *vaddrs, size_t n) MUST_CHECK;

#endif /* NODE_AGENT_INTERPRETER_SYMBOLS_H */
