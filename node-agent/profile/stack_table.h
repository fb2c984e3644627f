/*
 * Stacks with values, each once, in few bytes: a profile may have a hundred thousand. Pure.
 *
 * A stack is any string of bytes, the key; values are packed as a pprof has them.
 *
 * It exists beside common/data/table.h because every stack of every profile passes through it:
 * by "make bench-tables", line stack_table, adding one of 30,000 stacks twice costs 100 ns and
 * 87 bytes, against 260 ns and 183 bytes in a table.h.
 */
#ifndef NODE_AGENT_PROFILE_STACK_TABLE_H
#define NODE_AGENT_PROFILE_STACK_TABLE_H

#include "common/base.h"
#include "node-agent/profile/stack_values.h"

#define STACK_TABLE_KEY_MAX_BYTES 12288u

struct stack_table;

/* Borrowed from the table. */
struct stack_view {
	const uint8_t *key;
	size_t len;            /* bytes */
	const uint8_t *values; /* packed */
	size_t values_len;
};

/* Each stack has n_values values, at most STACK_VALUES_MAX. -ENOMEM is the only failure. */
int stack_table_new(struct stack_table **ret, size_t n_values, size_t max_bytes) MUST_CHECK;
void stack_table_free(struct stack_table *t);
DEFINE_CLEANUP(struct stack_table *, stack_table_free);

/*
 * Adds values to the stack with this key. Returns 0, -ENOMEM, or -ENOBUFS if the limit is
 * reached; this stack was then not added, and those before it are kept. Whether the stack is
 * new is only looked up by the next call, when its place has arrived in the processor's cache.
 */
int stack_table_add(struct stack_table *t, const void *key, size_t len,
		    const struct stack_values *values) MUST_CHECK;
/* Looks up the stack added last; must come before any of the calls below. Results as above. */
int stack_table_settle(struct stack_table *t) MUST_CHECK;

/* Sets this value to 0 in all stacks. */
void stack_table_forget(struct stack_table *t, size_t value);

/* Memory used by the stacks in the table. */
size_t stack_table_bytes(const struct stack_table *t);

/*
 * Brings stacks that begin alike together: they compress better, and faster. To be called after
 * stack_table_settle(); afterwards only stack_table_next() is allowed, until stack_table_clear().
 */
void stack_table_group(struct stack_table *t);

/* Iterates over the stacks that have a value. *at starts as 0. Returns false after the last. */
bool stack_table_next(const struct stack_table *t, size_t *at, struct stack_view *ret);

/* Removes all stacks and keeps the memory for others. */
void stack_table_clear(struct stack_table *t);

#endif /* NODE_AGENT_PROFILE_STACK_TABLE_H */
