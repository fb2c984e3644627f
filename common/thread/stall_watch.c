#include "common/thread/stall_watch.h"

void stall_watch_init(struct stall_watch *w, uint64_t period_ns, uint64_t now_ns)
{
	*w = (struct stall_watch){.period_ns = period_ns, .polled_ns = now_ns};
}

uint64_t stall_watch_poll(struct stall_watch *w, uint64_t now_ns, uint64_t cpu_ns, bool is_busy)
{
	uint64_t passed_ns = now_ns - w->polled_ns;

	if (passed_ns > w->period_ns)
		passed_ns = w->period_ns;
	if (is_busy && cpu_ns == w->cpu_ns)
		w->stalled_ns += passed_ns;
	else
		w->stalled_ns = 0;
	w->cpu_ns = cpu_ns;
	w->polled_ns = now_ns;
	return w->stalled_ns;
}
