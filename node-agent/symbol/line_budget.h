/*
 * CPU time for lines of native code: under 0.05 % of a core in any hour. Half of that may be spent
 * at once, and the other half comes back little by little. Once all is spent, it is saved up before
 * any is spent again: opening a file costs much more than another address of it. Pure.
 */
#ifndef NODE_AGENT_SYMBOL_LINE_BUDGET_H
#define NODE_AGENT_SYMBOL_LINE_BUDGET_H

#include "common/base.h"

#define LINE_BUDGET_NS INT64_C(900000000) /* at once */
#define LINE_BUDGET_SHARE INT64_C(4000)   /* one part of so many of the time comes back */
#define LINE_BUDGET_AGAIN_NS INT64_C(100000000)

struct line_budget {
	bool limited; /* false: everything may be spent */
	bool saving;
	int64_t left_ns;
	uint64_t at_ns; /* of the last refill */
};

void line_budget_init(struct line_budget *b, uint64_t now_ns);

/* Whether any may be spent now; while a profile waits, only the first half of it. */
bool line_budget_has(struct line_budget *b, uint64_t now_ns, bool profile_waits);
void line_budget_spend(struct line_budget *b, uint64_t ns);

#endif /* NODE_AGENT_SYMBOL_LINE_BUDGET_H */
