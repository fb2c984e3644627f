#include "common/jfr/jfr_groups.h"

#include "common/data/table.h"
#include "common/jfr/jfr_metadata.h"

int jfr_groups_init(struct jfr_groups *g, struct arena *a, uint32_t n_max)
{
	*g = (struct jfr_groups){.n_max = n_max < JFR_GROUPS_MAX ? n_max : JFR_GROUPS_MAX};
	g->groups = arena_alloc(a, g->n_max * sizeof(*g->groups) + 1);
	if (!g->groups)
		return arena_error(a, g->n_max * sizeof(*g->groups) + 1);
	return hash_index_init(&g->by_key, a, g->n_max, g->groups, sizeof(*g->groups));
}

bool jfr_groups_add(struct jfr_groups *g, const struct jfr_sample *s)
{
	const uint64_t key[] = {s->stack, s->class_id, s->kind};
	uint64_t hash = XXH3_64bits_withSeed(key, sizeof(key), table_seed);
	uint32_t *slot = hash_index_slot(&g->by_key, hash);
	struct jfr_group *group;

	if (*slot == 0) {
		if (g->n_groups == g->n_max)
			return false;
		g->groups[g->n_groups++] = (struct jfr_group){
			.hash = hash,
			.stack = s->stack,
			.class_id = s->class_id,
			.kind = s->kind,
		};
		*slot = g->n_groups;
	}
	group = &g->groups[*slot - 1];
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
	r = hash_index_init(&g->by_stack, a, g->n_groups, g->stacks, sizeof(*g->stacks));
	if (r < 0)
		return r;
	for (uint32_t i = 0; i < g->n_groups; i++) {
		uint64_t hash = jfr_id_hash(g->groups[i].stack);
		uint32_t *slot = hash_index_slot(&g->by_stack, hash);

		if (*slot == 0) {
			g->stacks[g->n_stacks++] = (struct jfr_stack_groups){
				.hash = hash,
				.first = JFR_GROUPS_MAX,
			};
			*slot = g->n_stacks;
		}
		g->groups[i].next = g->stacks[*slot - 1].first & 0xffffff;
		g->stacks[*slot - 1].first = i;
	}
	return 0;
}

struct jfr_stack_groups *jfr_groups_find(const struct jfr_groups *g, uint64_t stack)
{
	uint32_t i = *hash_index_slot(&g->by_stack, jfr_id_hash(stack));

	return i != 0 ? &g->stacks[i - 1] : NULL;
}
