/*
 * Stacks with values, each once: a profile may have a hundred thousand. Pure.
 *
 * A stack is any string of bytes, the key.
 */
#ifndef NODE_AGENT_PROFILE_STACK_TABLE_H
#define NODE_AGENT_PROFILE_STACK_TABLE_H

#include "common/base.h"

#define STACK_TABLE_KEY_MAX_BYTES 12288u
#define STACK_VALUES_MAX 4u

/* What is counted for a stack: one value of each type that the profile has. */
struct stack_values {
	int64_t v[STACK_VALUES_MAX];
};

/* Saturates: counters of a broken process can have any value. */
static inline int64_t stack_value_sum(int64_t a, int64_t b)
{
	int64_t sum;

	if (__builtin_add_overflow(a, b, &sum))
		return b < 0 ? INT64_MIN : INT64_MAX;
	return sum;
}

struct stack_table;

/* Borrowed from the table. */
struct stack_view {
	const uint8_t *key;
	size_t len;            /* bytes */
	const int64_t *values; /* as many as the table has of each stack */
};

/* Each stack has n_values values, at most STACK_VALUES_MAX. -ENOMEM is the only failure. */
int stack_table_new(struct stack_table **ret, size_t n_values, size_t max_bytes) MUST_CHECK;
void stack_table_free(struct stack_table *t);
DEFINE_CLEANUP(struct stack_table *, stack_table_free);

/*
 * Adds values to the stack with this key. Returns 0, -ENOMEM, or -ENOBUFS if the limit is
 * reached; this stack was then not added, and those before it are kept.
 */
int stack_table_add(struct stack_table *t, const void *key, size_t len,
		    const struct stack_values *values) MUST_CHECK;

/* Sets this value to 0 in all stacks. */
void stack_table_forget(struct stack_table *t, size_t value);

/* Memory that the stacks in the table take. */
size_t stack_table_bytes(const struct stack_table *t);

/*
 * Brings stacks that begin alike together, because they compress better and faster. Afterwards only
 * stack_table_next() is allowed, until stack_table_clear(). Without memory, the order stays.
 */
void stack_table_group(struct stack_table *t);

/* Iterates over the stacks that have a value. *at starts as 0. Returns false after the last. */
bool stack_table_next(const struct stack_table *t, size_t *at, struct stack_view *ret);

/* Removes all stacks. */
void stack_table_clear(struct stack_table *t);

#endif /* NODE_AGENT_PROFILE_STACK_TABLE_H */
