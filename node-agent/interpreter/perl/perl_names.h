/* The sub, file and line of a frame of Perl. Pure but for what it reads of the process. */
#ifndef NODE_AGENT_INTERPRETER_PERL_NAMES_H
#define NODE_AGENT_INTERPRETER_PERL_NAMES_H

#include "node-agent/interpreter/interpreter_frame.h"
#include "node-agent/interpreter/perl_layout.h"

/*
 * "Package::sub", "Package::__ANON__", "(eval)", "(sort)"; code of a file outside subs has the last
 * part of the file's name. Results as of interpreter_ops.name_frame().
 */
int perl_name_read(const struct perl_layout *layout, const struct interpreter_memory *memory,
		   const struct interpreter_frame *f, struct interpreter_name *ret) MUST_CHECK;

#endif /* NODE_AGENT_INTERPRETER_PERL_NAMES_H */
