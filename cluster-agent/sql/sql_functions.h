/* Functions that SQL of clients may call. Pure. */
#ifndef CLUSTER_AGENT_SQL_SQL_FUNCTIONS_H
#define CLUSTER_AGENT_SQL_SQL_FUNCTIONS_H

#include "common/base.h"

/*
 * Whether name may stand before "(": an ordinary, aggregate (also with combinators, such as
 * sumIf) or table function, or a type with parameters. Case does not matter.
 */
bool sql_function_is_allowed(const char *name, size_t len);

/* Whether name is a function of the engine that clients may not call. */
bool sql_function_is_refused(const char *name, size_t len);

#endif /* CLUSTER_AGENT_SQL_SQL_FUNCTIONS_H */
