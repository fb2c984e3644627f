/*
 * Where PHP keeps what the names and lines of its functions are read from: Zend/zend_compile.h. The
 * same for all processes that map a file.
 */
#ifndef NODE_AGENT_INTERPRETER_PHP_LAYOUT_H
#define NODE_AGENT_INTERPRETER_PHP_LAYOUT_H

#include "common/base.h"

/* Offsets in bytes from the start of a zend_op_array, but for the last one. */
struct php_layout {
	uint16_t last;     /* number of opcodes, 32 bits */
	uint16_t opcodes;  /* a pointer to the first one */
	uint16_t filename; /* a zend_string; the line that the function starts at follows it */
	uint16_t current;  /* the innermost frame, in executor_globals */
};

#endif /* NODE_AGENT_INTERPRETER_PHP_LAYOUT_H */
