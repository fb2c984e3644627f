/* Which release of Ruby a file has, and what is found by its functions. Pure. */
#ifndef NODE_AGENT_INTERPRETER_RUBY_RELEASE_H
#define NODE_AGENT_INTERPRETER_RUBY_RELEASE_H

#include "common/base.h"
#include "common/elf/elf_layout.h"
#include "node-agent/interpreter/interpreter_ops.h"

/*
 * version: the address of ruby_version. Sets all of *ret but ids. Returns 0; -ENOTSUP if the
 * release is not known; or an error of byte_source_read().
 */
int ruby_release_find(const struct elf_layout *layout, const struct byte_source *src,
		      uint64_t version, struct ruby_layout *ret) MUST_CHECK;

/*
 * ruby_global_symbols.ids, from the function rb_sym_all_symbols() at an address. Returns 0, -ENOENT
 * if it is not found, or an error of byte_source_read().
 */
int ruby_symbols_find(const struct elf_layout *layout, const struct byte_source *src,
		      uint64_t function, uint64_t *ret) MUST_CHECK;

#define RUBY_LOOPS_MAX 6

/*
 * The functions that execute instructions: vm_exec(), and what it calls, vm_exec_core(); and what
 * they call to run code of YJIT (on x86-64), which is vm_sendish(). evals are
 * the addresses of rb_iseq_eval() and rb_iseq_eval_main(), which both call vm_exec(); exec is its
 * own, or 0. Returns how many were found, -ENOENT if none was, -ENOMEM, or an error of
 * byte_source_read().
 */
int ruby_loops_find(const struct elf_layout *layout, const struct byte_source *src,
		    const uint64_t evals[2], uint64_t exec,
		    uint64_t ret[RUBY_LOOPS_MAX]) MUST_CHECK;

#endif /* NODE_AGENT_INTERPRETER_RUBY_RELEASE_H */
