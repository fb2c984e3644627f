/*
 * Frames that were stored without a name, of which the build and the address are known → with the
 * name, if it has come to be known since: from symbols that were uploaded later. All that reads
 * stacks goes through it, so that profiles of last week have names as well.
 *
 * The frame of a function is then that of the node agent for one that has a name in a symbol table.
 */
#ifndef CLUSTER_AGENT_QUERY_READ_LATE_NAMES_H
#define CLUSTER_AGENT_QUERY_READ_LATE_NAMES_H

#include "cluster-agent/query/read/stack_dictionary.h"
#include "common/base.h"

struct code_place_text;
struct symbol_store;

/*
 * Looks at the texts of d that it has not looked at, or at all if more names may be known since.
 * What no room is left for keeps its address. symbols may be NULL. -ENOMEM is the only failure.
 */
int late_names_add(struct symbol_store *symbols, struct stack_dictionary *d) MUST_CHECK;

/*
 * The same for one frame. Stores its text with the name in buf and returns the length, or 0 if it
 * has a name, or none is known.
 */
#define LATE_NAME_BYTES 4096u
size_t late_name_of(struct symbol_store *symbols, const char *text, size_t len,
		    char buf[static LATE_NAME_BYTES]);

/* Whether the text is of a frame without a name, of a build that is known; *ret points into it. */
bool late_name_place(const char *text, size_t len, struct code_place_text *ret);

#endif /* CLUSTER_AGENT_QUERY_READ_LATE_NAMES_H */
