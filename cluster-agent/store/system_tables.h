/* The tables of the engine's database "system" that somebody needs, and who. Pure. */
#ifndef CLUSTER_AGENT_STORE_SYSTEM_TABLES_H
#define CLUSTER_AGENT_STORE_SYSTEM_TABLES_H

#include "common/base.h"

enum system_table_kind {
	SYSTEM_TABLE_PUBLIC,   /* SQL of clients may read it */
	SYSTEM_TABLE_INTERNAL, /* for the agent only */
};

struct system_table {
	const char *name;
	enum system_table_kind kind;
};

/* The i-th of them; NULL past the last. */
const struct system_table *system_table_at(size_t i);

bool system_table_is_public(const char *name, size_t len);

#endif /* CLUSTER_AGENT_STORE_SYSTEM_TABLES_H */
