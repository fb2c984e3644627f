#include "node-agent/unwind/code/code_rounds.h"

#include <errno.h>

#include "node-agent/unwind/code/code_guess.h"

static void run_round(struct code_flow *f, uint32_t end)
{
	memset(f->numbers, 0, f->len * sizeof(*f->numbers));
	code_states_reset(&f->states);
	f->is_aligned = code_guess_is_aligned(f);
	f->learned = false;
	if (end < f->len)
		code_flow_follow(f, end, CODE_END);
	for (size_t i = 0; i < f->n_arrivals; i++)
		code_flow_add_edge(f, f->arrivals[i].at,
				   code_states_number(&f->states, &f->arrivals[i].state));
	/* those that begin late come first from the stack; the order of addresses is the others' */
	for (uint32_t at = 0; at < f->len; at++) {
		f->flags[at] &= (uint8_t)~CODE_BEHIND;
		if (code_flow_is_start(f, at) && f->numbers[at] == CODE_UNREACHED)
			code_flow_add_edge(f, at, CODE_ENTRY);
	}
	code_flow_follow(f, UINT32_MAX, CODE_ENTRY);
	code_guess(f);
	if (code_never_find(f))
		f->learned = true;
}

int code_rounds_run(struct code_flow *f, uint32_t end)
{
	unsigned rounds = 0;

	f->failed = false;
	f->may_return = code_guess_returns;
	do {
		run_round(f, end);
	} while (f->learned && !f->failed && ++rounds < f->max_rounds);
	return f->failed ? -ENOMEM : 0;
}
