#include "common/jfr/jfr_groups.h"

#include "common/data/table.h"

int jfr_groups_init(struct jfr_groups *g, struct arena *a, uint32_t n_max)
{
	*g = (struct jfr_groups){
		.n_max = n_max < JFR_GROUPS_MAX ? n_max : JFR_GROUPS_MAX,
		.by_key = {.arena = a},
		.by_stack = {.arena = a},
	};
	g->groups = arena_alloc(a, g->n_max * sizeof(*g->groups) + 1);
	if (!g->groups)
		return arena_error(a, g->n_max * sizeof(*g->groups) + 1);
	return number_index_reserve(&g->by_key, g->n_max);
}

static struct jfr_group *find(const struct jfr_groups *g, uint32_t hash, const struct jfr_sample *s)
{
	uint32_t at = hash, i;

	while (number_index_next(&g->by_key, hash, &at, &i)) {
		struct jfr_group *group = &g->groups[i];

		if (group->stack == s->stack && group->class_id == s->class_id &&
		    group->kind == s->kind)
			return group;
	}
	return NULL;
}

bool jfr_groups_add(struct jfr_groups *g, const struct jfr_sample *s)
{
	const uint64_t key[] = {s->stack, s->class_id, s->kind};
	uint32_t hash = table_hash(key, sizeof(key));
	struct jfr_group *group = find(g, hash, s);

	if (!group) {
		if (g->n_groups == g->n_max || number_index_add(&g->by_key, hash, g->n_groups) < 0)
			return false;
		group = &g->groups[g->n_groups++];
		*group = (struct jfr_group){
			.stack = s->stack,
			.class_id = s->class_id,
			.kind = s->kind,
		};
	}
	group->count += s->count;
	group->amount += s->amount;
	group->n_events++;
	return true;
}

int jfr_groups_order(struct jfr_groups *g, struct arena *a)
{
	int r;

	g->stacks = arena_alloc(a, g->n_groups * sizeof(*g->stacks) + 1);
	if (!g->stacks)
		return arena_error(a, g->n_groups * sizeof(*g->stacks) + 1);
	r = number_index_reserve(&g->by_stack, g->n_groups);
	for (uint32_t i = 0; r == 0 && i < g->n_groups; i++) {
		struct jfr_stack_groups *s = jfr_groups_find(g, g->groups[i].stack);

		if (!s) {
			r = number_index_add(&g->by_stack, number_hash(g->groups[i].stack),
					     g->n_stacks);
			s = &g->stacks[g->n_stacks++];
			*s = (struct jfr_stack_groups){
				.stack = g->groups[i].stack,
				.first = JFR_GROUPS_MAX,
			};
		}
		g->groups[i].next = s->first & 0xffffff;
		s->first = i;
	}
	return r;
}

struct jfr_stack_groups *jfr_groups_find(const struct jfr_groups *g, uint64_t stack)
{
	uint32_t i;

	return number_index_find(&g->by_stack, stack, g->stacks, sizeof(*g->stacks), &i)
		       ? &g->stacks[i]
		       : NULL;
}
