/*
 * Output formats that users of the SQL port may choose, by the FORMAT clause, default_format or
 * X-ClickHouse-Format. Pure.
 */
#ifndef CLUSTER_AGENT_SQL_SQL_FORMATS_H
#define CLUSTER_AGENT_SQL_SQL_FORMATS_H

#include "common/base.h"

struct sql_format {
	const char *name; /* as the engine spells it */
	const char *content_type;
};

/* Case does not matter, as in the engine. Returns NULL if there is none or it is refused. */
const struct sql_format *sql_format_find(const char *name, size_t len);

/* The i-th of the list; NULL past its end. */
const struct sql_format *sql_format_at(size_t i);

#endif /* CLUSTER_AGENT_SQL_SQL_FORMATS_H */
