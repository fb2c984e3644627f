/* Perl 5.28 to 5.44, with threads and without, in whatever program or library it is built into. */
#ifndef NODE_AGENT_INTERPRETER_PERL_INTERPRETER_H
#define NODE_AGENT_INTERPRETER_PERL_INTERPRETER_H

#include "node-agent/interpreter/interpreter_ops.h"

extern const struct interpreter_ops perl_interpreter_ops;

#endif /* NODE_AGENT_INTERPRETER_PERL_INTERPRETER_H */
