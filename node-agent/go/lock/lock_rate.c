#include "node-agent/go/lock/lock_rate.h"

#include "node-agent/go/image/go_write.h"
#include "node-agent/go/lock/lock_variables.h"

uint64_t lock_rate_value(enum lock_kind kind)
{
	return kind == LOCK_MUTEX ? LOCK_RATE_MUTEX : LOCK_RATE_BLOCK;
}

int lock_rate_read(struct go_runtime *rt, enum lock_kind kind, uint64_t *ret)
{
	uint64_t address = 0;
	int r = lock_variables_rate(rt, kind, &address);

	return r == 0 ? byte_source_read(rt->image.memory, address, ret, sizeof(*ret)) : r;
}

/*
 * The cached address may come from another process of the same executable. Before writing, the
 * variable is searched for in this very process; that is slow, so only when a write is due.
 */
int lock_rate_switch(struct go_runtime *rt, const struct program_id *id, enum lock_kind kind,
		     enum lock_rate_wish wish)
{
	uint64_t ours = lock_rate_value(kind), now = 0;
	struct go_write w = {
		.from = wish == LOCK_RATE_ON ? 0 : ours,
		.to = wish == LOCK_RATE_ON ? ours : 0,
	};
	int r = lock_rate_read(rt, kind, &now);

	if (r == 0 && now == w.to)
		return 0;
	rt->uncached = true;
	if (r == 0)
		r = lock_variables_rate(rt, kind, &w.address);
	rt->uncached = false;
	return r == 0 ? go_write_word(rt, id, &w) : r;
}
