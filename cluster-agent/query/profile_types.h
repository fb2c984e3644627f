/*
 * The profile types we know: titles, categories and how values add up over
 * time. One table; API, queries and page take everything from it. Pure.
 *
 * A type is "source:name:unit". Unknown types work too: they are summed and
 * shown by their raw name.
 */
#ifndef CLUSTER_AGENT_QUERY_PROFILE_TYPES_H
#define CLUSTER_AGENT_QUERY_PROFILE_TYPES_H

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
	bool featured;   /* the one to open first in its category */
	bool node_agent; /* instances are told apart by container.id, not by namespace and pod */
};

/* The whole table; *ret_n elements, lives forever. */
const struct profile_type *profile_types(size_t *ret_n);

/* Borrowed, lives forever; NULL for a type that is not in the table. */
const struct profile_type *profile_type_find(const char *type);

/* As profile_type_find(), with a neutral entry (type and title NULL) for unknown types. */
const struct profile_type *profile_type_get(const char *type);

/* The third part of a type string, "" when there is none. Points into type. */
const char *profile_type_unit(const char *type);

#endif /* CLUSTER_AGENT_QUERY_PROFILE_TYPES_H */
