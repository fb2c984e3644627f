/*
 * Before the second garbage collection nothing is active, and the runtime takes what came since. Which of them is in
 * use is known when the first record is active: all records before it have nothing active, so that in use of them
 * there is nothing.
 */
#include "node-agent/go/heap/heap_profile.h"

#include <errno.h>

#include "node-agent/go/heap/heap_scale.h"

enum { MADE_OBJECTS, MADE_BYTES, USED_OBJECTS, USED_BYTES, TYPES };

struct heap_profile {
	struct stack_profile *stacks;
	uint64_t rate;   /* to scale by */
	uint64_t period; /* to tell */
	bool any_active; /* some record has been through a garbage collection */
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

static int note_active(struct heap_profile *p, const struct heap_pair *active)
{
	if (p->any_active || (active->allocs == 0 && active->frees == 0))
		return 0;
	p->any_active = true;
	return stack_profile_forget(p->stacks, USED_OBJECTS, USED_BYTES);
}

int heap_profile_add(struct heap_profile *p, const struct go_bucket *b, const struct heap_counts *c,
		     uint64_t allocs)
{
	const struct stack_profile_stack stack = {
		.addresses = b->stack,
		.n = b->n_stack,
		.hide_runtime = true,
	};
	struct stack_values values = {{0}};
	const struct heap_pair *use;
	struct heap_amount made, used;
	int r = note_active(p, &c->active);

	use = p->any_active ? &c->active : &c->future;
	if (r < 0 || (allocs == 0 && use->allocs == use->frees))
		return r;
	made = heap_scale(allocs, b->size, p->rate);
	used = heap_scale(use->allocs - use->frees, b->size, p->rate);
	values.v[MADE_OBJECTS] = made.objects;
	values.v[MADE_BYTES] = made.bytes;
	values.v[USED_OBJECTS] = used.objects;
	values.v[USED_BYTES] = used.bytes;
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
