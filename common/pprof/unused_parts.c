#include "common/pprof/unused_parts.h"

#include <errno.h>

/* The new index + 1 by old index; 0 if not used. */
struct renumbering {
	uint32_t *functions;
	uint32_t *locations;
	uint32_t n_functions;
	uint32_t n_locations;
};

static uint32_t renumber(uint32_t *map, uint32_t *n, uint32_t old)
{
	if (map[old] == 0)
		map[old] = ++*n;
	return map[old] - 1;
}

static int renumber_samples(struct profile *p, struct renumbering *r)
{
	size_t n = 0;
	uint32_t *at;

	for (uint32_t i = 0; i < p->n_samples; i++)
		n += p->samples[i].n_locations;
	at = arena_alloc(p->arena, n * sizeof(*at));
	if (!at)
		return arena_error(p->arena, n * sizeof(*at));
	for (uint32_t i = 0; i < p->n_samples; i++) {
		struct profile_sample *s = &p->samples[i];
		const uint32_t *old = s->locations;

		s->locations = at;
		for (uint32_t l = 0; l < s->n_locations; l++)
			*at++ = renumber(r->locations, &r->n_locations, old[l]);
	}
	return 0;
}

static int move_locations(struct profile *p, struct renumbering *r)
{
	struct profile_location *locations;

	locations = arena_calloc(p->arena, r->n_locations, sizeof(*locations));
	if (!locations)
		return arena_error(p->arena, r->n_locations * sizeof(*locations));
	for (uint32_t i = 0; i < p->n_locations; i++) {
		const struct profile_location *old = &p->locations[i];
		struct profile_line *lines;

		if (r->locations[i] == 0)
			continue;
		lines = arena_alloc(p->arena, old->n_lines * sizeof(*lines));
		if (!lines)
			return arena_error(p->arena, old->n_lines * sizeof(*lines));
		for (uint32_t l = 0; l < old->n_lines; l++)
			lines[l] = (struct profile_line){
				renumber(r->functions, &r->n_functions, old->lines[l].function),
				old->lines[l].line};
		locations[r->locations[i] - 1] =
			(struct profile_location){lines, old->n_lines, old->address};
	}
	p->locations = locations;
	p->n_locations = r->n_locations;
	return 0;
}

static int move_functions(struct profile *p, const struct renumbering *r)
{
	struct profile_function *functions;

	functions = arena_calloc(p->arena, r->n_functions, sizeof(*functions));
	if (!functions)
		return arena_error(p->arena, r->n_functions * sizeof(*functions));
	for (uint32_t i = 0; i < p->n_functions; i++)
		if (r->functions[i] != 0)
			functions[r->functions[i] - 1] = p->functions[i];
	p->functions = functions;
	p->n_functions = r->n_functions;
	return 0;
}

int unused_parts_remove(struct profile *p)
{
	struct renumbering r = {
		.functions = arena_calloc(p->arena, p->n_functions, sizeof(*r.functions)),
		.locations = arena_calloc(p->arena, p->n_locations, sizeof(*r.locations)),
	};
	int e;

	if (!r.functions || !r.locations)
		return arena_error(p->arena, (p->n_functions + p->n_locations) * sizeof(uint32_t));
	e = renumber_samples(p, &r);
	if (e == 0)
		e = move_locations(p, &r);
	return e == 0 ? move_functions(p, &r) : e;
}
