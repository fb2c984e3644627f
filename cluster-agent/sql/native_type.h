/*
 * What a column of a given type looks like in ClickHouse's format Native: enough to find its end,
 * not to read its values. Pure.
 */
#ifndef CLUSTER_AGENT_SQL_NATIVE_TYPE_H
#define CLUSTER_AGENT_SQL_NATIVE_TYPE_H

#include "common/base.h"

#define NATIVE_TYPE_MAX_NODES 512u
#define NATIVE_TYPE_MAX_DEPTH 32u

enum native_kind {
	NATIVE_FIXED,    /* rows × width bytes */
	NATIVE_STRING,   /* per row a varint length and the bytes */
	NATIVE_ARRAY,    /* the end of each row, UInt64, then the items as a column of the child */
	NATIVE_NULLABLE, /* a byte per row, then the child for all rows */
	NATIVE_TUPLE,    /* the children, one after the other; without any, a byte per row */
	NATIVE_LOW_CARDINALITY, /* a dictionary of the child, then an index per row */
};

struct native_node {
	enum native_kind kind;
	uint32_t width; /* of NATIVE_FIXED, at least 1 */
	uint16_t child; /* the first one; siblings are linked by next. 0: none */
	uint16_t next;
};

struct native_type {
	struct native_node nodes[NATIVE_TYPE_MAX_NODES]; /* the root is the first */
	uint32_t n_nodes;
};

/*
 * Returns 0, or -EOPNOTSUPP if name is not a type, is too large, or has one inside whose columns
 * cannot be measured without reading them: AggregateFunction, Variant, Dynamic, JSON.
 */
int native_type_parse(struct native_type *ret, const char *name, size_t len) MUST_CHECK;

#endif /* CLUSTER_AGENT_SQL_NATIVE_TYPE_H */
