/*
 * Stacks with values, each once: what a profile of a hundred thousand stacks is made of, so of few bytes. Pure.
 *
 * A stack is whatever bytes its maker packs it into; values are packed as a pprof has them.
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

/* Of stacks with n_values values each, at most STACK_VALUES_MAX. -ENOMEM. */
int stack_table_new(struct stack_table **ret, size_t n_values, size_t max_bytes) MUST_CHECK;
void stack_table_free(struct stack_table *t);
DEFINE_CLEANUP(struct stack_table *, stack_table_free);

/*
 * Adds values to the stack of these bytes. 0; of this one or of the one before: -ENOMEM; -ENOBUFS over the limit.
 * Whether the stack is a new one is looked for at the next call, when that is in the processor's cache.
 */
int stack_table_add(struct stack_table *t, const void *key, size_t len,
		    const struct stack_values *values) MUST_CHECK;
/* The stack that was added last is looked for: before any of what follows. Results as above. */
int stack_table_settle(struct stack_table *t) MUST_CHECK;

/* All stacks have 0 of this value. */
void stack_table_forget(struct stack_table *t, size_t value);

/* Of the stacks that are there. */
size_t stack_table_bytes(const struct stack_table *t);

/*
 * After stack_table_settle(); until stack_table_clear() there is only stack_table_next() then. Brings stacks that begin
 * alike together: they compress better, and faster.
 */
void stack_table_group(struct stack_table *t);

/* One stack that has a value after the other; *at begins with 0. false behind the last. */
bool stack_table_next(const struct stack_table *t, size_t *at, struct stack_view *ret);

/* There is none any more; the memory is kept for others. */
void stack_table_clear(struct stack_table *t);

#endif /* NODE_AGENT_PROFILE_STACK_TABLE_H */
