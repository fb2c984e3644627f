/*
 * Where a thread-local variable is, from the instructions of a small function that returns it.
 * Pure.
 *
 * Compilers access such variables in a handful of ways, by the kind of file that they are in: at a
 * constant offset from the thread pointer (executables), at an offset that the dynamic linker
 * stores (initial exec), by a descriptor (TLSDESC), or by the number of the module
 * (__tls_get_addr()).
 */
#ifndef NODE_AGENT_INTERPRETER_THREAD_VARIABLE_H
#define NODE_AGENT_INTERPRETER_THREAD_VARIABLE_H

#include "common/base.h"
#include "common/elf/elf_layout.h"

enum thread_variable_kind {
	THREAD_VARIABLE_OFFSET, /* at (thread pointer + offset) */
	/* At (thread pointer + the word at vaddr + offset). */
	THREAD_VARIABLE_LINKED,
	/* At (variables of the module whose number is the word at vaddr + offset). */
	THREAD_VARIABLE_MODULE,
	/* No variable: what pthread_getspecific(3) has for the key at vaddr. On x86-64 only. */
	THREAD_VARIABLE_KEY,
};

struct thread_variable {
	enum thread_variable_kind kind;
	int64_t offset;
	uint64_t vaddr; /* in the file */
};

/*
 * The function at vaddr loads the variable. Returns 0, -ENOENT if its instructions are none of
 * these, or an error of byte_source_read().
 */
int thread_variable_of_getter(const struct elf_layout *layout, const struct byte_source *src,
			      uint64_t vaddr, struct thread_variable *ret) MUST_CHECK;

#endif /* NODE_AGENT_INTERPRETER_THREAD_VARIABLE_H */
