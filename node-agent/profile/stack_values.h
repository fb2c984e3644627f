/* What is counted for a stack: one value of each type that the profile has. Pure. */
#ifndef NODE_AGENT_PROFILE_STACK_VALUES_H
#define NODE_AGENT_PROFILE_STACK_VALUES_H

#include "common/base.h"

#define STACK_VALUES_MAX 4u

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

#endif /* NODE_AGENT_PROFILE_STACK_VALUES_H */
