/*
 * What differs between builds and releases of Perl in where the names and lines of subs are read
 * from. The same for all processes that map a file.
 */
#ifndef NODE_AGENT_INTERPRETER_PERL_LAYOUT_H
#define NODE_AGENT_INTERPRETER_PERL_LAYOUT_H

#include "common/base.h"

struct perl_layout {
	bool threaded;     /* a COP has the text of its file's name, else a GV */
	bool name_in_body; /* of a package: in the body of its hash, else behind its array */
};

#endif /* NODE_AGENT_INTERPRETER_PERL_LAYOUT_H */
