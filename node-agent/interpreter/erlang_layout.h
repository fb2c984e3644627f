/*
 * Where the names and lines of Erlang's functions are read from, in a file that has its emulator.
 * The same for all processes that map a file. Addresses are those in the file.
 */
#ifndef NODE_AGENT_INTERPRETER_ERLANG_LAYOUT_H
#define NODE_AGENT_INTERPRETER_ERLANG_LAYOUT_H

#include "common/base.h"

struct erlang_layout {
	uint64_t ranges;     /* where the code of modules is: one table for each code index */
	uint64_t code_index; /* 32 bits: the table that counts */
	uint64_t atoms;      /* the table of atoms */
	uint16_t functions;  /* in the header of a module's code: the first of its functions */
};

#endif /* NODE_AGENT_INTERPRETER_ERLANG_LAYOUT_H */
