/*
 * The profile types that we know: titles, categories and how values add up over time. One
 * table, which API, queries and page read. Pure.
 *
 * A type is "source:name:unit". Unknown types work as well: they are summed and shown by their
 * raw name.
 */
#ifndef CLUSTER_AGENT_QUERY_READ_PROFILE_TYPES_H
#define CLUSTER_AGENT_QUERY_READ_PROFILE_TYPES_H

#include "common/base.h"

enum profile_aggregation {
	PROFILE_AGGREGATION_SUM, /* values add up over time: CPU time, allocations */
	PROFILE_AGGREGATION_AVG, /* a level: memory in use, goroutines */
};

struct profile_type {
	const char *type;
	const char *title;
	const char *category; /* "cpu", "memory", "lock" or "" */
	enum profile_aggregation aggregation;
	bool featured;   /* shown first in its category */
	bool node_agent; /* its instances are identified by container.id, not namespace and pod */
};

/* Returns the whole table, *ret_n elements, which is static. */
const struct profile_type *profile_types(size_t *ret_n);

/* Returns a static entry, or NULL if the type is not in the table. */
const struct profile_type *profile_type_find(const char *type);

/* As profile_type_find(), but returns a neutral entry (type and title NULL) for unknown types. */
const struct profile_type *profile_type_get(const char *type);

/* Whether its values are CPU time, so that values divided by time are cores. */
bool profile_type_is_cpu_time(const struct profile_type *t);

/* Whether it is a level that an application can leak: memory in use, goroutines, threads. */
bool profile_type_is_level(const struct profile_type *t);

/* Returns the language whose programs have the type: "go", "java", …, or "" if it is none's. */
const char *profile_type_language(const char *type);

/* Returns the third part of a type, within that string; "" if there is none. */
const char *profile_type_unit(const char *type);

#endif /* CLUSTER_AGENT_QUERY_READ_PROFILE_TYPES_H */
