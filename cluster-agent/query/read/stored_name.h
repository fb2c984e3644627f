/*
 * Names of functions in the sums of days (sums/function_sums.h). Code that had no name keeps the
 * file with its build id there, as in a frame: "nginx+0x2a3b0 [nginx@<build id>]". So its name can
 * be found later (late_names.h). Pure but for the symbols.
 */
#ifndef CLUSTER_AGENT_QUERY_READ_STORED_NAME_H
#define CLUSTER_AGENT_QUERY_READ_STORED_NAME_H

#include "common/base.h"
#include "common/data/arena.h"

struct symbol_store;

/*
 * The name to show: the one that is known by now, or "nginx+0x2a3b0"; any other name as it is.
 * symbols may be NULL. The result is in the arena, or is `stored`; NULL if there is no memory.
 */
const char *stored_name_shown(struct symbol_store *symbols, const char *stored, struct arena *a);

#endif /* CLUSTER_AGENT_QUERY_READ_STORED_NAME_H */
