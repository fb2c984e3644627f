/*
 * A profile may have samples with equal stacks that differ in labels, and locations of equal
 * content under different ids. Comparing frames by text would be slow: a heap profile has
 * thousands of stacks of dozens of frames.
 *
 * So each stack gets a hash: a polynomial over the hashes of its frames, modulo 2^64. Adding a
 * frame to a stack is a multiplication and an addition, and several of these in a row are again
 * one multiplication and one addition. Each location's share (a "step") is therefore computed
 * once, however many inlined frames it has, and it does not matter how frames are distributed
 * over locations.
 *
 * The hashes of frames are XXH3 with a secret seed, so nobody can construct stacks that
 * collide, and different stacks collide as rarely as random numbers do.
 */
#include "common/pprof/merged_stacks.h"

#include <errno.h>

#include "common/data/number_index.h"

#define FACTOR UINT64_C(0x9e3779b97f4a7c17) /* odd, and FACTOR - 1 is no multiple of 4 */

/* The effect of a location on the hash of the stack below it: hash × power + sum. */
struct step {
	uint64_t power;
	uint64_t sum;
};

static uint64_t hash_text(const struct profile_string *s)
{
	return XXH3_64bits_withSeed(s->data, s->len, table_seed);
}

static uint64_t hash_numbers(uint64_t a, uint64_t b)
{
	const uint64_t both[] = {a, b};

	return XXH3_64bits_withSeed(both, sizeof(both), table_seed);
}

static void add_frame(struct step *s, uint64_t frame)
{
	s->power *= FACTOR;
	s->sum = s->sum * FACTOR + frame;
}

static struct step step_of(const struct profile_location *l, const uint64_t *functions)
{
	struct step s = {1, 0};

	for (uint32_t i = 0; i < l->n_lines; i++)
		add_frame(&s, hash_numbers(functions[l->lines[i].function],
					   (uint64_t)l->lines[i].line));
	if (l->n_lines == 0)
		add_frame(&s, hash_numbers(table_seed, l->address));
	return s;
}

/* Returns NULL if there is no memory for it. */
static struct step *make_steps(const struct profile *p)
{
	uint64_t *functions = arena_calloc(p->arena, p->n_functions, sizeof(*functions));
	struct step *steps = arena_calloc(p->arena, p->n_locations, sizeof(*steps));

	if (!functions || !steps)
		return NULL;
	for (uint32_t i = 0; i < p->n_functions; i++)
		functions[i] = hash_numbers(hash_text(&p->functions[i].name),
					    hash_text(&p->functions[i].file));
	for (uint32_t i = 0; i < p->n_locations; i++)
		steps[i] = step_of(&p->locations[i], functions);
	return steps;
}

static uint64_t hash_stack(const struct profile_sample *s, const struct step *steps)
{
	uint64_t h = 0;

	for (uint32_t i = 0; i < s->n_locations; i++) {
		const struct step *step = &steps[s->locations[i]];

		h = h * step->power + step->sum;
	}
	return h;
}

/* Stores the row of the stack, which is added if it is new. */
static int find_or_add(struct merged_stacks *m, struct number_index *by_hash,
		       const struct merged_stack *stack, uint32_t *ret)
{
	int r;

	if (number_index_find(by_hash, stack->hash, m->stacks, sizeof(*m->stacks), ret))
		return 0;
	r = number_index_add(by_hash, number_hash(stack->hash), m->n);
	if (r < 0)
		return r;
	*ret = m->n++;
	m->stacks[*ret] = *stack;
	return 0;
}

static void add_values(struct merged_stacks *m, size_t row, const int64_t *values,
		       const uint32_t *columns)
{
	int64_t *sums = &m->values[row * m->n_columns];

	for (uint32_t c = 0; c < m->n_columns; c++) {
		int64_t v = values[columns[c]];

		if (v < 0) {
			m->losses.n[PROFILE_LOSS_NEGATIVE_VALUES]++;
		} else if (__builtin_add_overflow(sums[c], v, &sums[c])) {
			m->losses.n[PROFILE_LOSS_CLAMPED_VALUES]++;
			sums[c] = INT64_MAX;
		}
	}
}

int merged_stacks_make(struct merged_stacks *ret, const struct profile *p, const uint32_t *columns,
		       uint32_t n_columns)
{
	struct merged_stacks m = {.n_columns = n_columns};
	struct step *steps = make_steps(p);
	struct number_index by_hash = {.arena = p->arena};
	int r;

	if (!steps)
		return arena_error(p->arena, p->n_locations * sizeof(*steps) +
						     p->n_functions * sizeof(uint64_t));
	m.stacks = arena_calloc(p->arena, p->n_samples, sizeof(*m.stacks));
	m.values = arena_calloc(p->arena, (size_t)p->n_samples * n_columns, sizeof(*m.values));
	if (!m.stacks || !m.values)
		return arena_error(p->arena, (size_t)p->n_samples * n_columns * sizeof(*m.values));
	r = number_index_reserve(&by_hash, p->n_samples);
	for (uint32_t i = 0; i < p->n_samples && r == 0; i++) {
		const struct merged_stack stack = {hash_stack(&p->samples[i], steps), i};
		uint32_t row;

		r = find_or_add(&m, &by_hash, &stack, &row);
		if (r == 0)
			add_values(&m, row, p->samples[i].values, columns);
	}
	if (r == 0)
		*ret = m;
	return r;
}
