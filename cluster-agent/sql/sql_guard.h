/*
 * Which SQL a user may send to the engine: one statement that reads our tables. Pure.
 *
 * The engine's read-only mode refuses writing, changing settings and most table functions. This
 * refuses the rest: files and network through ordinary functions and through DESCRIBE; INTO
 * OUTFILE, which the engine's client part executes; SETTINGS in subqueries; KILL, SYSTEM, USE,
 * and several statements at once. It is strict: text that two readers could split into tokens
 * differently (heredocs, nested comments, typographic quotes, backslashes outside strings) is
 * refused as well.
 */
#ifndef CLUSTER_AGENT_SQL_SQL_GUARD_H
#define CLUSTER_AGENT_SQL_SQL_GUARD_H

#include "common/base.h"
#include "common/err.h"

/* The engine's own limit on a statement. */
#define SQL_GUARD_MAX_BYTES ((size_t)256 * 1024)

struct sql_facts {
	char format[48]; /* name in the FORMAT clause at the end; "" without one */
	size_t end;      /* offset of the semicolon behind the statement; 0 without one */
};

/*
 * sql need not be NUL-terminated. Returns 0, -EPERM if it is refused, -EINVAL if there is no
 * statement or a quote does not end, or -EFBIG beyond SQL_GUARD_MAX_BYTES; with a sentence in
 * err.
 */
int sql_guard_check(const char *sql, size_t len, struct sql_facts *ret, struct err *err) MUST_CHECK;

#endif /* CLUSTER_AGENT_SQL_SQL_GUARD_H */
