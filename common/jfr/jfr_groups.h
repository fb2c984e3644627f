/*
 * Events added up per kind, stack and class. Pure.
 */
#ifndef COMMON_JFR_JFR_GROUPS_H
#define COMMON_JFR_JFR_GROUPS_H

#include "common/base.h"
#include "common/data/arena.h"
#include "common/data/number_index.h"
#include "common/jfr/jfr_stacks.h"

#define JFR_GROUPS_MAX 32768u

struct jfr_sample {
	enum jfr_kind kind;
	uint64_t stack;
	uint64_t class_id; /* or, of a CPU sample, its thread state */
	double count;
	double amount;
};

struct jfr_group {
	uint64_t stack;
	uint64_t class_id;
	double count;
	double amount;
	uint32_t n_events;
	uint32_t next : 24; /* with the same stack; JFR_GROUPS_MAX: the last one */
	uint32_t kind : 8;
};

struct jfr_stack_groups {
	uint64_t stack; /* first, for number_index_find() */
	uint32_t first;
	bool is_read; /* its methods are known */
	bool is_reported;
};

struct jfr_groups {
	struct jfr_group *groups;
	uint32_t n_groups, n_max;
	struct number_index by_key;
	struct jfr_stack_groups *stacks;
	uint32_t n_stacks;
	struct number_index by_stack;
};

/* Everything is allocated in a. Returns 0, -ENOMEM or -EFBIG. */
int jfr_groups_init(struct jfr_groups *g, struct arena *a, uint32_t n_max) MUST_CHECK;

/* Returns false if there is no room for another group. */
bool jfr_groups_add(struct jfr_groups *g, const struct jfr_sample *s);

/* Orders the groups by stack, after the last sample. Results as of init. */
int jfr_groups_order(struct jfr_groups *g, struct arena *a) MUST_CHECK;

/* NULL if no group has that stack. After jfr_groups_order(). */
struct jfr_stack_groups *jfr_groups_find(const struct jfr_groups *g, uint64_t stack);

#endif /* COMMON_JFR_JFR_GROUPS_H */
