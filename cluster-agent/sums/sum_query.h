/*
 * The statements of function_sums.h: which applications are to be summed, and their sums.
 *
 * Blocks on the store: call it from a thread that may wait.
 */
#ifndef CLUSTER_AGENT_SUMS_SUM_QUERY_H
#define CLUSTER_AGENT_SUMS_SUM_QUERY_H

#include "common/base.h"
#include "common/data/arena.h"
#include "common/data/buf.h"
#include "common/err.h"

struct store;

/* Functions that are kept of an application, version, type and day. */
#define SUM_QUERY_FUNCTIONS 1000u
/* Rows of all services of one question; far above what one service usually has. */
#define SUM_QUERY_MAX_ROWS 200000u
#define SUM_QUERY_MAX_SERVICES 4000u

/* A day, of which the services without fresh sums are looked for, or some are summed. */
struct sum_day {
	struct store *store;
	int64_t start_ns;        /* 00:00 UTC */
	int64_t now_ns;          /* up to when profiles are certain to be part of the sums */
	int64_t fresh_ns;        /* sums of then or later are good enough */
	uint64_t seed;           /* decides the order of services */
	const char *const *skip; /* services that are left out */
	size_t n_skip;
};

struct sum_service {
	const char *name; /* borrowed from the arena */
	uint64_t n_samples;
};

struct sum_services {
	struct arena arena;
	struct sum_service items[SUM_QUERY_MAX_SERVICES];
	size_t n_items;
};

/*
 * Services that have samples of the day but no fresh sums. Errors are those of bound_query_run().
 * Released with arena_fini().
 */
int sum_query_services(const struct sum_day *day, struct sum_services *ret,
		       struct err *err) MUST_CHECK;

struct sum_rows {
	struct buf bytes; /* RowBinary; the caller's */
	uint32_t n_rows;
	bool is_cut; /* SUM_QUERY_MAX_ROWS were not enough for all */
};

/*
 * Appends the rows of n services for profiling_functions. Those with an empty name have the totals
 * of a service. Errors are those of bound_query_run(), or -EBADMSG.
 */
int sum_query_rows(const struct sum_day *day, const struct sum_service *services, size_t n,
		   struct sum_rows *ret, struct err *err) MUST_CHECK;

#endif /* CLUSTER_AGENT_SUMS_SUM_QUERY_H */
