/*
 * How many lines there are up to each block of some scripts' sources, which are in the memory of
 * processes and too long to be read for each name. Pure; not thread-safe.
 */
#ifndef NODE_AGENT_INTERPRETER_SCRIPT_LINES_H
#define NODE_AGENT_INTERPRETER_SCRIPT_LINES_H

#include "common/base.h"

#define SCRIPT_LINES_MAX 32u /* scripts */
#define SCRIPT_LINES_BLOCK 4096u
#define SCRIPT_LINES_BLOCKS 4096u

/* A source as long as this at an address of a process. */
struct script_source {
	uint64_t process;
	uint64_t at;
	uint64_t length;
};

struct script_lines {
	uint64_t process; /* that is being read; set by the owner */
	struct counted {
		struct script_source source;
		uint32_t *lines; /* owned; in front of each block */
	} scripts[SCRIPT_LINES_MAX];
	uint32_t next; /* to be replaced */
};

void script_lines_fini(struct script_lines *s);

/* The lines in front of each block; NULL: they are not known. Borrowed until the next change. */
const uint32_t *script_lines_find(const struct script_lines *s, uint64_t at, uint64_t length);

/* Takes lines, from malloc(), in place of those that were added first. */
void script_lines_add(struct script_lines *s, uint64_t at, uint64_t length, uint32_t *lines);

#endif /* NODE_AGENT_INTERPRETER_SCRIPT_LINES_H */
