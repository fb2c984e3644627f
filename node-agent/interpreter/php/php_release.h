/* Which release of PHP a file has, and what follows from it. Pure. */
#ifndef NODE_AGENT_INTERPRETER_PHP_RELEASE_H
#define NODE_AGENT_INTERPRETER_PHP_RELEASE_H

#include "common/base.h"
#include "common/elf/elf_layout.h"
#include "node-agent/interpreter/php_layout.h"

/*
 * For a file with execute_ex(). Returns 0; -ENOENT if nothing in it says that it is PHP's; -ENOTSUP
 * if the release is not known; -ENOMEM; or an error of byte_source_read().
 */
int php_release_find(const struct elf_layout *layout, const struct byte_source *src,
		     struct php_layout *ret) MUST_CHECK;

#endif /* NODE_AGENT_INTERPRETER_PHP_RELEASE_H */
