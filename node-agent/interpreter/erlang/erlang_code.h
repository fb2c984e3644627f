/* What is found by the instructions of Erlang's emulator: variables without a symbol. Pure. */
#ifndef NODE_AGENT_INTERPRETER_ERLANG_CODE_H
#define NODE_AGENT_INTERPRETER_ERLANG_CODE_H

#include "common/base.h"
#include "common/elf/elf_layout.h"

/*
 * All return 0; -ENOTSUP if the instructions are others; or an error of byte_source_read().
 * Addresses are those in the file.
 */

/* The variable that the function at this address loads first: it has 32 bits. */
int erlang_first_load(const struct elf_layout *layout, const struct byte_source *src,
		      uint64_t function, uint64_t *ret) MUST_CHECK;

/*
 * The table whose address is taken beside a load of the variable `index`, in the function or in the
 * first one that it calls.
 */
int erlang_table_beside(const struct elf_layout *layout, const struct byte_source *src,
			uint64_t function, uint64_t index, uint64_t *ret) MUST_CHECK;

/* Where the only call of the function returns to. */
int erlang_return_of_call(const struct elf_layout *layout, const struct byte_source *src,
			  uint64_t function, uint64_t *ret) MUST_CHECK;

#endif /* NODE_AGENT_INTERPRETER_ERLANG_CODE_H */
