/*
 * Which SQL a user may send to the engine: one statement that reads our tables. Pure.
 *
 * The guard has lists of what is allowed: statements, functions (sql_functions.h), formats
 * (sql_formats.h), settings (sql_settings.h) and tables of the database "system"
 * (system_tables.h). It is strict: text that two readers could split into tokens differently
 * (heredocs, nested comments, typographic quotes, backslashes outside strings) is refused as well.
 */
#ifndef CLUSTER_AGENT_SQL_SQL_GUARD_H
#define CLUSTER_AGENT_SQL_SQL_GUARD_H

#include "cluster-agent/sql/sql_settings.h"
#include "common/base.h"
#include "common/err.h"

/* The engine's own limit on a statement. */
#define SQL_GUARD_MAX_BYTES ((size_t)256 * 1024)

/* Settings in one statement. */
#define SQL_GUARD_MAX_SETTINGS 32u

struct sql_facts {
	/* of the statement without FORMAT, SETTINGS and ";" at its end; it is to be cut there */
	size_t len;
	char format[48]; /* in the clause FORMAT, as the engine spells it; "" without one */
	struct sql_setting settings[SQL_GUARD_MAX_SETTINGS]; /* in the clause SETTINGS */
	size_t n_settings;
};

/*
 * sql need not be NUL-terminated. Returns 0, -EPERM if it is refused, -EINVAL if there is no
 * statement or a quote does not end, or -EFBIG beyond SQL_GUARD_MAX_BYTES; with a sentence in
 * err.
 */
int sql_guard_check(const char *sql, size_t len, struct sql_facts *ret, struct err *err) MUST_CHECK;

#endif /* CLUSTER_AGENT_SQL_SQL_GUARD_H */
