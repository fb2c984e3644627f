/*
 * Where PHP keeps what the names and lines of its functions are read from: Zend/zend_compile.h. The
 * same for all processes that map a file.
 */
#ifndef NODE_AGENT_INTERPRETER_PHP_LAYOUT_H
#define NODE_AGENT_INTERPRETER_PHP_LAYOUT_H

#include "common/base.h"

/* Offsets in bytes from the start of a zend_op_array, but for `current`. */
struct php_layout {
	uint16_t last;     /* number of opcodes, 32 bits */
	uint16_t opcodes;  /* a pointer to the first one */
	uint16_t filename; /* a zend_string; the line that the function starts at follows it */
	uint16_t current;  /* the innermost frame, in executor_globals */
	/*
	 * Builds for several threads: the address in the file of the variable that says where
	 * executor_globals is among the globals of a thread; 0: they are known.
	 */
	uint64_t globals_offset;
};

#endif /* NODE_AGENT_INTERPRETER_PHP_LAYOUT_H */
