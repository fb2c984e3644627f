/* How code that opcache has compiled leaves the frame of PHP's loop, which it runs in. Pure. */
#ifndef NODE_AGENT_INTERPRETER_PHP_CODE_H
#define NODE_AGENT_INTERPRETER_PHP_CODE_H

#include <linux/types.h>

#include "common/base.h"
#include "common/elf/elf_layout.h"

#include "bpf/frame_chain.h"

/* Addresses in the file; 0: it has none. */
struct php_loop {
	uint64_t loop;           /* execute_ex() */
	uint64_t pointer;        /* the variable through which these functions call it */
	const uint64_t *callers; /* borrowed */
	size_t n_callers;
};

/*
 * Sets *ret, but for where code is. Returns 0; -ENOTSUP if the instructions are others; -ENOMEM; or
 * an error of byte_source_read().
 */
int php_guest_find(const struct elf_layout *layout, const struct byte_source *src,
		   const struct php_loop *loop, struct chain_guest *ret) MUST_CHECK;

#endif /* NODE_AGENT_INTERPRETER_PHP_CODE_H */
