/*
 * A function never returns if no way through it ends with a return: all end with calls of such
 * functions, with traps, or turn in a circle. An indirect jump may lead anywhere, so a function
 * that has one counts as one that returns; as does one that is too large to be searched.
 */
#include "node-agent/unwind/code/code_guess.h"

#define STEPS_MAX 3000u
#define BRANCHES_MAX 256u

struct search {
	struct code_flow *flow;
	uint32_t branches[BRANCHES_MAX]; /* that are to be followed */
	uint32_t n_branches;
	uint32_t seen[STEPS_MAX];
	uint32_t n_seen;
};

enum way_end {
	GOES_ON,
	ENDS,
	RETURNS,
};

/* A jump to another function, whose return is that of this one. */
static enum way_end jump(struct search *s, uint32_t *at, const struct x86_instruction *i)
{
	const struct code_flow *f = s->flow;
	uint32_t next = *at + i->len;

	if (code_flow_is_never(f, next, i))
		return ENDS;
	*at = code_flow_target(next, i);
	return i->kind == X86_JUMP && *at < f->len && !code_flow_is_start(f, *at) ? GOES_ON
										  : RETURNS;
}

static enum way_end execute(struct search *s, uint32_t *at, const struct x86_instruction *i)
{
	const struct code_flow *f = s->flow;
	uint32_t next = *at + i->len, target = code_flow_target(next, i);

	switch (i->kind) {
	case X86_CALL:
	case X86_CALL_INDIRECT:
		if (f->flags[*at] & CODE_NO_RETURN || code_flow_is_never(f, next, i))
			return ENDS;
		break;
	case X86_BRANCH:
		if (target >= f->len || s->n_branches == BRANCHES_MAX)
			return RETURNS;
		s->branches[s->n_branches++] = target;
		break;
	case X86_JUMP:
	case X86_JUMP_INDIRECT:
		return jump(s, at, i);
	case X86_RETURN:
		return RETURNS;
	case X86_TRAP:
		return ENDS;
	default:
		break;
	}
	*at = next;
	return GOES_ON;
}

/* Follows a way until it meets another, or ends. Returns false if it returns. */
static bool search_from(struct search *s, uint32_t at, uint32_t start)
{
	struct code_flow *f = s->flow;
	enum way_end end = GOES_ON;

	while (end == GOES_ON) {
		struct x86_instruction i;

		if (at >= f->len || s->n_seen == STEPS_MAX || f->left_steps == 0 ||
		    code_flow_decode(f, at, &i) == 0 || (at != start && code_flow_is_start(f, at)))
			return false;
		if (f->flags[at] & CODE_TRIED)
			return true;
		f->left_steps--;
		f->flags[at] |= CODE_TRIED;
		s->seen[s->n_seen++] = at;
		end = execute(s, &at, &i);
	}
	return end == ENDS;
}

static bool never_returns(struct search *s, uint32_t start)
{
	bool never;

	s->n_seen = s->n_branches = 0;
	never = search_from(s, start, start);
	while (never && s->n_branches > 0)
		never = search_from(s, s->branches[--s->n_branches], start);
	for (uint32_t i = 0; i < s->n_seen; i++)
		s->flow->flags[s->seen[i]] &= (uint8_t)~CODE_TRIED;
	return never;
}

bool code_never_find(struct code_flow *f)
{
	struct search *s = malloc(sizeof(*s));
	bool found = false;

	if (!s) {
		f->failed = true;
		return false;
	}
	s->flow = f;
	for (uint32_t at = 0; at < f->len; at++) {
		if (!code_flow_is_start(f, at) || f->flags[at] & (CODE_NEVER | CODE_HANDLER) ||
		    !never_returns(s, at))
			continue;
		f->flags[at] |= CODE_NEVER;
		found = true;
	}
	free(s);
	return found;
}
