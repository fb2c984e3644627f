/*
 * Stacks with values, each once: what a profile of a hundred thousand stacks is made of, so of few bytes. Pure.
 *
 * A stack is whatever bytes its maker packs it into. Stacks lie one behind the other in chunks, which can be
 * given back while they are read for the last time.
 */
#ifndef NODE_AGENT_GO_STACK_TABLE_H
#define NODE_AGENT_GO_STACK_TABLE_H

#include "common/base.h"
#include "node-agent/go/stack_profile.h"

#define STACK_TABLE_KEY_MAX_BYTES 12288u

struct stack_table;

struct stack_entry {
	struct stack_values values;
	uint16_t len;
	uint8_t key[]; /* len bytes */
};

/* -ENOMEM. */
int stack_table_new(struct stack_table **ret, size_t max_bytes) MUST_CHECK;
void stack_table_free(struct stack_table *t);
DEFINE_CLEANUP(struct stack_table *, stack_table_free);

/* The stack of these bytes, made when there is none; it stays where it is. 0; -ENOMEM; -ENOBUFS over the limit. */
int stack_table_find(struct stack_table *t, const void *key, size_t len,
		     struct stack_entry **ret) MUST_CHECK;

/* Begins zeroed. */
struct stack_cursor {
	size_t chunk;
	size_t offset;
};

/* One stack after the other, in the order in which they were made; NULL behind the last. */
struct stack_entry *stack_table_next(const struct stack_table *t, struct stack_cursor *c);

/* No stack will be looked for any more; what is behind the cursor will not be looked at. */
void stack_table_release(struct stack_table *t, const struct stack_cursor *c);

#endif /* NODE_AGENT_GO_STACK_TABLE_H */
