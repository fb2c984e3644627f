/*
 * Keeps the dictionaries of the most recently queried services, so that a reader who zooms,
 * compares or watches waits for the values only: frames are most of what the store would read and
 * send again, and what a hash stands for never changes.
 *
 * A query takes the dictionary of its service out, adds to it what it lacks, and puts it back. A
 * concurrent query of the same service creates another one; the one with more stacks is kept. So
 * nothing is locked while a query runs, and the memory is bounded: by max_bytes here, and by the
 * limits of a dictionary per query.
 *
 * Thread-safe.
 */
#ifndef CLUSTER_AGENT_QUERY_READ_STACK_CACHE_H
#define CLUSTER_AGENT_QUERY_READ_STACK_CACHE_H

#include "cluster-agent/query/read/stack_dictionary.h"
#include "common/base.h"

struct stack_cache;

/* Returns 0 or -ENOMEM. */
int stack_cache_new(struct stack_cache **ret, size_t max_bytes) MUST_CHECK;
void stack_cache_free(struct stack_cache *c);
DEFINE_CLEANUP(struct stack_cache *, stack_cache_free);

/*
 * Sets *ret to the dictionary of a service and, of a comparison, that of the base (else ""), which
 * then is the caller's; to a new one if there is none. c may be NULL. Returns 0 or -ENOMEM.
 */
int stack_cache_take(struct stack_cache *c, const char *service, const char *base,
		     struct stack_dictionary **ret) MUST_CHECK;

/* Takes a dictionary over, to keep or to free it. c may be NULL, and so may d. */
void stack_cache_put(struct stack_cache *c, const char *service, const char *base,
		     struct stack_dictionary *d);

/* Memory that the dictionaries hold, roughly. */
size_t stack_cache_bytes(struct stack_cache *c);

#endif /* CLUSTER_AGENT_QUERY_READ_STACK_CACHE_H */
