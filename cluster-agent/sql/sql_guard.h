/*
 * Which SQL a user may send to the embedded engine: one statement that reads our tables. Pure.
 *
 * The engine's own readonly mode refuses writing, changing settings and most table functions; this
 * refuses what is left: files and network by ordinary functions and by DESCRIBE, INTO OUTFILE,
 * which the engine's client part executes, SETTINGS in subqueries, KILL, SYSTEM, USE and several
 * statements at once.
 * Strict: text on whose tokens two readers could differ (heredocs, nested comments, typographic
 * quotes, backslashes outside of strings) is refused, too.
 */
#ifndef CLUSTER_AGENT_SQL_SQL_GUARD_H
#define CLUSTER_AGENT_SQL_SQL_GUARD_H

#include "common/base.h"
#include "common/err.h"

/* As the engine's own limit of one statement. */
#define SQL_GUARD_MAX_BYTES ((size_t)256 * 1024)

struct sql_facts {
	char format[48]; /* of the FORMAT clause at the end; "" without one */
};

/*
 * sql is not NUL-terminated. 0; -EPERM: refused; -EINVAL: no statement, or broken quotes;
 * -EFBIG: longer than SQL_GUARD_MAX_BYTES. All with a sentence in err.
 */
int sql_guard_check(const char *sql, size_t len, struct sql_facts *ret, struct err *err) MUST_CHECK;

#endif /* CLUSTER_AGENT_SQL_SQL_GUARD_H */
