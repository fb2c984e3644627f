/*
 * Two tables: frame → location index and stack → sample. Elements live in the arena; the hash
 * heads are on the heap. Locations are numbered by first sight, one function and one
 * location per distinct frame, so both arrays of the profile have the same order.
 */
#include "node-agent/profile/profile_builder.h"

#include <errno.h>

#include "common/data/table.h"
#include "common/limits.h"
#include "node-agent/symbol/symbolizer.h"

struct frame_entry {
	const struct symbol_frame *frame; /* the pointer is the key */
	uint32_t location;
	struct frame_entry *next; /* by location */
	UT_hash_handle hh;
};

struct stack_entry {
	int64_t value;
	uint32_t n_locations;
	struct stack_entry *next; /* by first sight */
	UT_hash_handle hh;
	uint32_t locations[]; /* the key */
};

struct profile_builder {
	struct arena *arena; /* borrowed */
	struct frame_entry *frames;
	struct frame_entry *first_frame;
	struct frame_entry **last_frame;
	uint32_t n_frames;
	struct stack_entry *stacks;
	struct stack_entry *first_stack;
	struct stack_entry **last_stack;
	uint32_t n_stacks;
	uint32_t scratch[LIMIT_PPROF_STACK_DEPTH];
};

int profile_builder_new(struct profile_builder **ret, struct arena *arena)
{
	struct profile_builder *b = calloc(1, sizeof(*b));

	if (!b)
		return -ENOMEM;
	b->arena = arena;
	b->last_frame = &b->first_frame;
	b->last_stack = &b->first_stack;
	*ret = b;
	return 0;
}

void profile_builder_free(struct profile_builder *b)
{
	if (!b)
		return;
	HASH_CLEAR(hh, b->frames);
	HASH_CLEAR(hh, b->stacks);
	free(b);
}

static int find_location(struct profile_builder *b, const struct symbol_frame *frame, uint32_t *ret)
{
	struct frame_entry *e;

	HASH_FIND_PTR(b->frames, &frame, e);
	if (!e) {
		if (b->n_frames >= LIMIT_PPROF_LOCATIONS)
			return -EFBIG;
		e = arena_calloc(b->arena, 1, sizeof(*e));
		if (!e)
			return -ENOMEM;
		e->frame = frame;
		e->location = b->n_frames;
		HASH_ADD_PTR(b->frames, frame, e);
		if (!TABLE_ADDED(hh, e))
			return -ENOMEM;
		*b->last_frame = e;
		b->last_frame = &e->next;
		b->n_frames++;
	}
	*ret = e->location;
	return 0;
}

static int add_stack(struct profile_builder *b, uint32_t n, int64_t value)
{
	unsigned key_len = (unsigned)(n * sizeof(uint32_t));
	struct stack_entry *e;

	if (b->n_stacks >= LIMIT_PPROF_SAMPLES)
		return -EFBIG;
	e = arena_calloc(b->arena, 1, sizeof(*e) + key_len);
	if (!e)
		return -ENOMEM;
	e->value = value;
	e->n_locations = n;
	memcpy(e->locations, b->scratch, key_len);
	HASH_ADD_KEYPTR(hh, b->stacks, e->locations, key_len, e);
	if (!TABLE_ADDED(hh, e))
		return -ENOMEM;
	*b->last_stack = e;
	b->last_stack = &e->next;
	b->n_stacks++;
	return 0;
}

int profile_builder_add(struct profile_builder *b, const struct symbol_frame *const *frames,
			size_t n_frames, int64_t value)
{
	struct stack_entry *e;
	int r;

	if (n_frames == 0 || n_frames > LIMIT_PPROF_STACK_DEPTH)
		return -EFBIG;
	for (size_t i = 0; i < n_frames; i++) {
		r = find_location(b, frames[i], &b->scratch[i]);
		if (r < 0)
			return r;
	}
	HASH_FIND(hh, b->stacks, b->scratch, (unsigned)(n_frames * sizeof(uint32_t)), e);
	if (!e)
		return add_stack(b, (uint32_t)n_frames, value);
	e->value += value;
	return 0;
}

static struct profile_string view(const char *s)
{
	return (struct profile_string){s, strlen(s)};
}

static int fill_locations(const struct profile_builder *b, struct profile *p)
{
	struct profile_line *lines;
	uint32_t i = 0;

	p->functions = arena_calloc(p->arena, b->n_frames, sizeof(*p->functions));
	p->locations = arena_calloc(p->arena, b->n_frames, sizeof(*p->locations));
	lines = arena_calloc(p->arena, b->n_frames, sizeof(*lines));
	if (!p->functions || !p->locations || !lines)
		return -ENOMEM;

	for (const struct frame_entry *e = b->first_frame; e; e = e->next, i++) {
		p->functions[i].name = view(e->frame->function);
		p->functions[i].file = view(e->frame->file);
		lines[i].function = i;
		p->locations[i].lines = &lines[i];
		p->locations[i].n_lines = 1;
	}
	p->n_functions = b->n_frames;
	p->n_locations = b->n_frames;
	return 0;
}

static int fill_samples(const struct profile_builder *b, struct profile *p)
{
	uint32_t i = 0;

	p->samples = arena_calloc(p->arena, b->n_stacks, sizeof(*p->samples));
	if (!p->samples)
		return -ENOMEM;
	for (const struct stack_entry *e = b->first_stack; e; e = e->next, i++) {
		p->samples[i].locations = e->locations;
		p->samples[i].n_locations = e->n_locations;
		p->samples[i].values = &e->value;
	}
	p->n_samples = b->n_stacks;
	return 0;
}

int profile_builder_finish(struct profile_builder *b, struct profile *ret)
{
	struct profile p = {.arena = b->arena};
	int r;

	r = fill_locations(b, &p);
	if (r == 0)
		r = fill_samples(b, &p);
	if (r == 0)
		*ret = p;
	return r;
}
