#include "test/lib/made_profile.h"

#include <assert.h>

static struct profile_string text(struct arena *arena, const char *s, size_t len)
{
	char *copy = arena_strndup(arena, s, len);

	assert(copy);
	return (struct profile_string){copy, len};
}

static void add_types(struct profile *p, const char *types)
{
	p->types = arena_calloc(p->arena, 8, sizeof(*p->types));
	assert(p->types);
	while (*types) {
		size_t type_len = strcspn(types, "/"), unit_len = strcspn(types + type_len, " ");

		p->types[p->n_types++] = (struct profile_value_type){
			text(p->arena, types, type_len),
			text(p->arena, types + type_len + 1, unit_len - 1)};
		types += type_len + unit_len;
		types += *types == ' ';
	}
}

static void add_frames(struct profile *p)
{
	p->functions = arena_calloc(p->arena, MADE_PROFILE_FRAMES, sizeof(*p->functions));
	p->locations = arena_calloc(p->arena, MADE_PROFILE_FRAMES, sizeof(*p->locations));
	assert(p->functions && p->locations);
	for (uint32_t i = 0; i < MADE_PROFILE_FRAMES; i++) {
		struct profile_line *line = arena_calloc(p->arena, 1, sizeof(*line));
		char name[16];

		assert(line);
		*line = (struct profile_line){i, 10 + i};
		snprintf(name, sizeof(name), "f%u", i);
		p->functions[i].name = text(p->arena, name, strlen(name));
		snprintf(name, sizeof(name), "f%u.go", i);
		p->functions[i].file = text(p->arena, name, strlen(name));
		p->locations[i] = (struct profile_location){line, 1, 0x1000 + i};
	}
	p->n_functions = MADE_PROFILE_FRAMES;
	p->n_locations = MADE_PROFILE_FRAMES;
}

struct profile made_profile(struct arena *arena, const char *types,
			    const struct made_sample *samples, uint32_t n_samples)
{
	struct profile p = {.arena = arena};

	add_types(&p, types);
	add_frames(&p);
	p.samples = arena_calloc(arena, n_samples, sizeof(*p.samples));
	assert(p.samples);
	for (uint32_t i = 0; i < n_samples; i++) {
		struct made_sample *s = arena_alloc(arena, sizeof(*s));

		assert(s);
		*s = samples[i];
		p.samples[i] = (struct profile_sample){s->stack, s->depth, s->values};
	}
	p.n_samples = n_samples;
	return p;
}

int64_t made_profile_sum(const struct profile *p, uint32_t type)
{
	int64_t sum = 0;

	for (uint32_t i = 0; i < p->n_samples; i++)
		sum += p->samples[i].values[type];
	return sum;
}
