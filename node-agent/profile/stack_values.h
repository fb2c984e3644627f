/* What is counted for a stack: one value of each type that the profile has. Pure. */
#ifndef NODE_AGENT_PROFILE_STACK_VALUES_H
#define NODE_AGENT_PROFILE_STACK_VALUES_H

#include "common/base.h"

#define STACK_VALUES_MAX 4u

struct stack_values {
	int64_t v[STACK_VALUES_MAX];
};

/* Saturates: counters of a broken process can have any value. */
static inline void stack_values_add(struct stack_values *values, size_t type, int64_t n)
{
	if (__builtin_add_overflow(values->v[type], n, &values->v[type]))
		values->v[type] = n < 0 ? INT64_MIN : INT64_MAX;
}

#endif /* NODE_AGENT_PROFILE_STACK_VALUES_H */
