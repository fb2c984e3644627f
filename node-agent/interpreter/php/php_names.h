/* The function, file and line of a frame of PHP. Pure but for what it reads of the process. */
#ifndef NODE_AGENT_INTERPRETER_PHP_NAMES_H
#define NODE_AGENT_INTERPRETER_PHP_NAMES_H

#include "node-agent/interpreter/interpreter_frame.h"
#include "node-agent/interpreter/php_layout.h"

/*
 * "function", "Class::method", "{closure}"; code of a script outside functions has the last part of
 * the script's name; functions of extensions have no file. Results as of
 * interpreter_ops.name_frame().
 */
int php_name_read(const struct php_layout *layout, const struct interpreter_memory *memory,
		  const struct interpreter_frame *f, struct interpreter_name *ret) MUST_CHECK;

#endif /* NODE_AGENT_INTERPRETER_PHP_NAMES_H */
