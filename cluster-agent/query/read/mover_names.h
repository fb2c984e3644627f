/* Names for functions among movers that were stored without (late_names.h). Pure but for these. */
#ifndef CLUSTER_AGENT_QUERY_READ_MOVER_NAMES_H
#define CLUSTER_AGENT_QUERY_READ_MOVER_NAMES_H

#include "cluster-agent/query/read/mover_query.h"
#include "common/base.h"

struct symbol_store;

/*
 * Names them, and adds up those that are one function then: of several builds, or of profiles with
 * and without a name. The order is no longer that of changes. symbols may be NULL. -ENOMEM is the
 * only failure.
 */
int mover_names_add(struct symbol_store *symbols, struct mover_list *l) MUST_CHECK;

#endif /* CLUSTER_AGENT_QUERY_READ_MOVER_NAMES_H */
