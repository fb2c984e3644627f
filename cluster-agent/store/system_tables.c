/*
 * The database "system" says more than a reader of profiles should know: the SQL of others, paths
 * and addresses of the machine, its users and configuration. What clients ask for when they
 * connect or list tables is harmless; the rest is refused by name, and the embedded engine drops
 * it (engine_access.c).
 */
#include "cluster-agent/store/system_tables.h"

static const struct system_table tables[] = {
	/* sources of rows */
	{"one", SYSTEM_TABLE_PUBLIC},
	{"numbers", SYSTEM_TABLE_PUBLIC},
	{"numbers_mt", SYSTEM_TABLE_PUBLIC},
	{"zeros", SYSTEM_TABLE_PUBLIC},
	{"zeros_mt", SYSTEM_TABLE_PUBLIC},
	/* what there is: only our database is listed */
	{"databases", SYSTEM_TABLE_PUBLIC},
	{"tables", SYSTEM_TABLE_PUBLIC},
	{"columns", SYSTEM_TABLE_PUBLIC},
	{"data_skipping_indices", SYSTEM_TABLE_PUBLIC},
	{"dictionaries", SYSTEM_TABLE_PUBLIC}, /* there are none */
	/* what the engine can do: the same in every copy of it */
	{"aggregate_function_combinators", SYSTEM_TABLE_PUBLIC},
	{"build_options", SYSTEM_TABLE_PUBLIC},
	{"clusters", SYSTEM_TABLE_PUBLIC}, /* there are none, and no macros */
	{"collations", SYSTEM_TABLE_PUBLIC},
	{"contributors", SYSTEM_TABLE_PUBLIC},
	{"data_type_families", SYSTEM_TABLE_PUBLIC},
	{"database_engines", SYSTEM_TABLE_PUBLIC},
	{"formats", SYSTEM_TABLE_PUBLIC},
	{"functions", SYSTEM_TABLE_PUBLIC},
	{"keywords", SYSTEM_TABLE_PUBLIC},
	{"licenses", SYSTEM_TABLE_PUBLIC},
	{"macros", SYSTEM_TABLE_PUBLIC},
	{"merge_tree_settings", SYSTEM_TABLE_PUBLIC},
	{"settings", SYSTEM_TABLE_PUBLIC},
	{"storage_policies", SYSTEM_TABLE_PUBLIC}, /* "default" */
	{"table_engines", SYSTEM_TABLE_PUBLIC},
	{"table_functions", SYSTEM_TABLE_PUBLIC},
	{"time_zones", SYSTEM_TABLE_PUBLIC},
	/* what the agent itself asks, and KILL QUERY */
	{"detached_parts", SYSTEM_TABLE_INTERNAL},
	{"disks", SYSTEM_TABLE_INTERNAL},
	{"known_databases", SYSTEM_TABLE_INTERNAL}, /* of engine_access.c */
	{"known_tables", SYSTEM_TABLE_INTERNAL},
	{"merges", SYSTEM_TABLE_INTERNAL},
	{"mutations", SYSTEM_TABLE_INTERNAL},
	{"parts", SYSTEM_TABLE_INTERNAL},
	{"processes", SYSTEM_TABLE_INTERNAL},
};

const struct system_table *system_table_at(size_t i)
{
	return i < ARRAY_SIZE(tables) ? &tables[i] : NULL;
}

bool system_table_is_public(const char *name, size_t len)
{
	for (size_t i = 0; i < ARRAY_SIZE(tables); i++) {
		if (tables[i].kind == SYSTEM_TABLE_PUBLIC && strlen(tables[i].name) == len &&
		    memcmp(tables[i].name, name, len) == 0)
			return true;
	}
	return false;
}
