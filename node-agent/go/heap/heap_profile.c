/*
 * Which counters are "in use"? runtime/pprof reports the active ones, unless no record has
 * any active count yet (before the second garbage collection): then it adds the future ones
 * to all records (MemProfile in runtime/mprof.go). The runtime needs a first pass over all
 * records to decide; we read each record once. So in-use values are taken from the future
 * counters until the first record with active counters appears. At that point all earlier
 * records are known to have none, and the in-use values collected so far are simply reset
 * (stack_profile_forget()).
 */
#include "node-agent/go/heap/heap_profile.h"

#include <errno.h>

enum { ALLOC_OBJECTS, ALLOC_BYTES, INUSE_OBJECTS, INUSE_BYTES, TYPES };

struct heap_profile {
	struct stack_profile *stacks;
	uint64_t rate;   /* values are scaled by this one; 1 if they are wanted raw */
	uint64_t period; /* the pprof reports this one */
	bool any_active; /* a record with active counters was seen */
};

int heap_profile_new(struct heap_profile **ret, const struct heap_profile_config *cfg)
{
	const struct stack_profile_config stacks = {
		.resolver = cfg->resolver,
		.types = {"go_runtime:heap_alloc_objects:count",
			  "go_runtime:heap_alloc_space:bytes",
			  "go_runtime:heap_inuse_objects:count",
			  "go_runtime:heap_inuse_space:bytes"},
		.units = {"count", "bytes", "count", "bytes"},
		.n_types = TYPES,
		.period_type = "space",
		.period_unit = "bytes",
		.tentative = true,
		.max_bytes = cfg->max_bytes,
		.out = cfg->out,
		.more = cfg->more,
	};
	CLEANUP(heap_profile_freep) struct heap_profile *p = calloc(1, sizeof(*p));
	int r;

	if (!p)
		return -ENOMEM;
	p->rate = cfg->raw ? 1 : cfg->rate;
	p->period = cfg->rate;
	r = stack_profile_new(&p->stacks, &stacks);
	if (r < 0)
		return r;
	*ret = TAKE_PTR(p);
	return 0;
}

void heap_profile_free(struct heap_profile *p)
{
	if (!p)
		return;
	stack_profile_free(p->stacks);
	free(p);
}

static void note_active(struct heap_profile *p, const struct heap_pair *active)
{
	if (p->any_active || (active->allocs == 0 && active->frees == 0))
		return;
	p->any_active = true;
	stack_profile_forget(p->stacks, INUSE_OBJECTS, INUSE_BYTES);
}

int heap_profile_add(struct heap_profile *p, const struct go_bucket *b, const struct heap_counts *c,
		     struct heap_growth allocs)
{
	const struct stack_profile_stack stack = {
		.addresses = b->stack,
		.n = b->n_stack,
		.hide_runtime = true,
	};
	struct stack_values values = {{0}};
	const struct heap_pair *use;
	struct heap_amount alloc, inuse;

	note_active(p, &c->active);
	use = p->any_active ? &c->active : &c->future;
	if (allocs.now == allocs.before && use->allocs == use->frees)
		return 0;
	alloc = heap_scale_growth(allocs, b->size, p->rate);
	inuse = heap_scale(use->allocs - use->frees, b->size, p->rate);
	values.v[ALLOC_OBJECTS] = alloc.objects;
	values.v[ALLOC_BYTES] = alloc.bytes;
	values.v[INUSE_OBJECTS] = inuse.objects;
	values.v[INUSE_BYTES] = inuse.bytes;
	return stack_profile_add(p->stacks, &stack, &values);
}

int heap_profile_finish(struct heap_profile *p, int64_t end_ns, int64_t duration_ns,
			size_t *ret_samples)
{
	const struct stack_profile_times times = {
		.end_ns = end_ns,
		.duration_ns = duration_ns,
		.period = (int64_t)p->period,
	};

	return stack_profile_finish(p->stacks, &times, ret_samples);
}
