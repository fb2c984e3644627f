#include "node-agent/go/heap/heap_force.h"

#include <errno.h>

#include "node-agent/go/heap/heap_variables.h"
#include "node-agent/go/image/go_write.h"

static int find(struct go_runtime *rt, struct go_write *w)
{
	int r = heap_variables_rate(rt, &w->address);

	return r == 0 ? heap_variables_disabled(rt, &w->guard_address) : r;
}

/*
 * The cached address may come from another process of the same executable. Before writing, the
 * variable is searched for in this very process; that is slow, so only when a write is due.
 */
int heap_force(struct go_runtime *rt, const struct program_id *id, enum heap_force_wish wish)
{
	uint64_t to = wish == HEAP_FORCE_ON ? HEAP_FORCE_RATE : 0;
	struct go_write w = {.from = HEAP_FORCE_RATE - to, .to = to, .guard_value = 1};
	uint64_t now;
	int r;

	if (rt->image.minor < HEAP_FORCE_MINOR_MIN)
		return -ENOTSUP;
	r = find(rt, &w);
	if (r == 0)
		r = byte_source_read(rt->image.memory, w.address, &now, sizeof(now));
	if (r == 0 && now == w.from) {
		rt->uncached = true;
		r = find(rt, &w);
		rt->uncached = false;
	}
	if (r < 0)
		return r == -ENOENT ? -ENOTSUP : r;
	return go_write_word(rt, id, &w);
}
