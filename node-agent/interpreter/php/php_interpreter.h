/* PHP 7.3 to 8.6: its engine, in whatever program or library it is built into. */
#ifndef NODE_AGENT_INTERPRETER_PHP_INTERPRETER_H
#define NODE_AGENT_INTERPRETER_PHP_INTERPRETER_H

#include "node-agent/interpreter/interpreter_ops.h"

extern const struct interpreter_ops php_interpreter_ops;

#endif /* NODE_AGENT_INTERPRETER_PHP_INTERPRETER_H */
