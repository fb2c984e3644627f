#include "node-agent/symbol/line_budget.h"

void line_budget_init(struct line_budget *b, uint64_t now_ns)
{
	*b = (struct line_budget){.limited = true, .left_ns = LINE_BUDGET_NS, .at_ns = now_ns};
}

static void refill(struct line_budget *b, uint64_t now_ns)
{
	uint64_t parts = (now_ns - b->at_ns) / (uint64_t)LINE_BUDGET_SHARE;

	b->at_ns += parts * (uint64_t)LINE_BUDGET_SHARE;
	b->left_ns += parts < (uint64_t)LINE_BUDGET_NS ? (int64_t)parts : LINE_BUDGET_NS;
	if (b->left_ns > LINE_BUDGET_NS)
		b->left_ns = LINE_BUDGET_NS;
}

bool line_budget_has(struct line_budget *b, uint64_t now_ns, bool profile_waits)
{
	if (!b->limited)
		return true;
	refill(b, now_ns);
	if (b->saving && b->left_ns >= LINE_BUDGET_AGAIN_NS)
		b->saving = false;
	else if (b->left_ns <= 0)
		b->saving = true;
	return !b->saving && b->left_ns > (profile_waits ? LINE_BUDGET_NS / 2 : 0);
}

void line_budget_spend(struct line_budget *b, uint64_t ns)
{
	if (b->limited)
		b->left_ns -= ns < INT64_MAX / 2 ? (int64_t)ns : INT64_MAX / 2;
}
