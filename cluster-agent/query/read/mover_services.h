/*
 * Movers, step 1: what each service used on both sides. For mover_*.c only.
 *
 * Blocks on the store: call it from a worker.
 */
#ifndef CLUSTER_AGENT_QUERY_READ_MOVER_SERVICES_H
#define CLUSTER_AGENT_QUERY_READ_MOVER_SERVICES_H

#include "cluster-agent/query/read/bound_query.h"
#include "cluster-agent/query/read/mover_query.h"
#include "common/base.h"

#define AT(name) "fromUnixTimestamp64Nano(toInt64({" name ":UInt64}))"
/* Blocks of both sides; {all}: so many that those of neither side are dropped afterwards. */
#define BLOCKS_OF(which) "({all:UInt8} OR " which("") " OR " which("base_") ")"

struct mover_service {
	const char *name; /* of the list's arena */
	const char *type;
	uint64_t n_samples;
	double cores[2]; /* while it had profiles */
	double rate[2];  /* cores per ns of CPU time in the samples */
	double used_ns[2];
	int64_t begin_ns[2]; /* of its first profile, and the end of its last one */
	int64_t stop_ns[2];
	double covered_ns[2]; /* of its instances together */
	double reach_ns[2];   /* likewise, from the first to the last profile of each */
	int rank;             /* of its type, where there are several */
};

struct moves {
	struct store *store;
	const struct query_filter *f;
	const struct query_filter *base;
	const char *const *only; /* services that are asked for, sorted; NULL: all */
	size_t n_only;
	double span_ns[2]; /* from the first to the last profile of all services */
	struct mover_list *list;
	struct mover_service *services; /* of mover_services_find(); free() */
	size_t n_services;
	const char **keys; /* of each item of the list; in its arena */
	bool is_exact;     /* the values of the items are those of all of their stacks */
};

/* Whether the side is read from the projections of projections.h. */
bool mover_side_is_long(const struct query_filter *f);

/* Binds both ranges with their first and last border of blocks; init has bound the first range. */
void mover_sides_bind(struct bound_query *q, const struct moves *m);

struct mover_services {
	struct mover_service *items; /* sorted by name */
	size_t n;
	double span_ns[2];
};

/*
 * Finds all services, and fills what the list says of the ranges. ret->items is the caller's to
 * free(), in every case.
 */
int mover_services_find(const struct moves *moves, struct mover_services *ret,
			struct err *err) MUST_CHECK;

#endif /* CLUSTER_AGENT_QUERY_READ_MOVER_SERVICES_H */
