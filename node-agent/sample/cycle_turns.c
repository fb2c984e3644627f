#include "node-agent/sample/cycle_turns.h"

#include "common/system/clock.h"

int cycle_turn_begin(struct cycle_turn *ret, const struct cycle_config *cfg)
{
	int r = cycle_new(&ret->cycle, cfg);

	if (r < 0)
		return r;
	ret->start_ns = clock_realtime_ns();
	ret->start_mono_ns = clock_monotonic_ns();
	return 0;
}

struct cycle *cycle_turns_at(const struct cycle_turns *t, uint64_t ktime_ns)
{
	if (t->next.cycle && ktime_ns >= t->next.start_mono_ns)
		return t->next.cycle;
	return t->current.cycle;
}

struct cycle_turn cycle_turns_end(struct cycle_turns *t, int64_t *ret_duration_ns)
{
	struct cycle_turn done = t->current;

	*ret_duration_ns = (int64_t)(t->next.start_mono_ns - done.start_mono_ns);
	t->current = t->next;
	t->next = (struct cycle_turn){0};
	return done;
}

void cycle_turns_fini(struct cycle_turns *t)
{
	cycle_free(t->current.cycle);
	cycle_free(t->next.cycle);
}
