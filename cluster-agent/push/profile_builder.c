/*
 * Arrays grow by doubling. The arena frees nothing singly, so what they have outgrown stays until
 * its end: at most as much again as the result.
 */
#include "cluster-agent/push/profile_builder.h"

#include <errno.h>

#include "common/data/table.h"
#include "common/limits.h"
#include "common/text/utf8.h"

#define CUT_MARK "…"
#define FIRST_FRAMES 256u
#define FIRST_SAMPLES 256u

static int no_room(const struct profile_builder *b, size_t size)
{
	const struct arena *a = b->profile.arena;
	int r = arena_error(a, size);

	return r == -EFBIG ? err_set(b->err, r, "the profile takes more than %zu bytes of memory",
				     a->limit_bytes)
			   : r;
}

/* Returns a copy of n elements with room for n_new, or NULL. */
static void *grown(struct arena *a, const void *from, size_t n, size_t n_new, size_t size)
{
	void *to = arena_alloc(a, n_new * size);

	if (to && n > 0)
		memcpy(to, from, n * size);
	return to;
}

static int grow_frames(struct profile_builder *b)
{
	struct profile *p = &b->profile;
	struct arena *a = p->arena;
	uint32_t n = p->n_locations, n_new = b->max_frames ? 2 * b->max_frames : FIRST_FRAMES;
	int r;

	if (n >= LIMIT_PPROF_LOCATIONS)
		return err_set(b->err, -EFBIG, "more than %u locations", LIMIT_PPROF_LOCATIONS);
	b->hashes = grown(a, b->hashes, n, n_new, sizeof(*b->hashes));
	p->functions = grown(a, p->functions, n, n_new, sizeof(*p->functions));
	p->locations = grown(a, p->locations, n, n_new, sizeof(*p->locations));
	if (!b->hashes || !p->functions || !p->locations)
		return no_room(b, n_new * sizeof(*p->locations));
	r = number_index_reserve(&b->by_frame, n_new);
	if (r < 0)
		return r == -EFBIG ? no_room(b, n_new * sizeof(*b->by_frame.slots)) : r;
	b->max_frames = n_new;
	return 0;
}

int profile_builder_init(struct profile_builder *b, struct arena *arena, uint32_t n_types,
			 struct err *err)
{
	*b = (struct profile_builder){
		.profile = {.arena = arena, .n_types = n_types},
		.by_frame = {.arena = arena},
		.err = err,
	};
	return grow_frames(b);
}

static uint64_t hash_frame(const struct frame_source *f)
{
	uint64_t h = XXH3_64bits_withSeed(f->name.data, f->name.len, table_seed);

	h = XXH3_64bits_withSeed(f->file.data, f->file.len, h);
	return XXH3_64bits_withSeed(&f->line, sizeof(f->line), h);
}

/* As pprof_decode.h does with a string that is too long. */
static int copy_text(struct profile_builder *b, const struct profile_string *from,
		     struct profile_string *ret)
{
	bool is_cut = from->len > LIMIT_PPROF_STRING_BYTES;
	size_t mark_len = is_cut ? strlen(CUT_MARK) : 0;
	size_t len = is_cut ? utf8_cut(from->data, from->len, LIMIT_PPROF_STRING_BYTES - mark_len)
			    : from->len;
	char *copy = arena_alloc(b->profile.arena, len + mark_len + 1);

	if (!copy)
		return no_room(b, len + mark_len + 1);
	if (len > 0)
		memcpy(copy, from->data, len);
	memcpy(copy + len, CUT_MARK, mark_len);
	copy[len + mark_len] = '\0';
	b->profile.losses.n[PROFILE_LOSS_CUT_STRINGS] += is_cut;
	*ret = (struct profile_string){copy, len + mark_len};
	return 0;
}

static int add_location(struct profile_builder *b, const struct frame_source *f)
{
	struct profile *p = &b->profile;
	struct profile_line *line = arena_alloc(p->arena, sizeof(*line));
	uint32_t i = p->n_locations;
	int r;

	if (!line)
		return no_room(b, sizeof(*line));
	r = copy_text(b, &f->name, &p->functions[i].name);
	if (r == 0)
		r = copy_text(b, &f->file, &p->functions[i].file);
	if (r < 0)
		return r;
	*line = (struct profile_line){.function = i, .line = f->line};
	p->locations[i] = (struct profile_location){.lines = line, .n_lines = 1};
	p->n_locations = p->n_functions = i + 1;
	return 0;
}

int profile_builder_add_frame(struct profile_builder *b, const struct frame_source *frame,
			      uint32_t *ret_location)
{
	uint64_t hash = hash_frame(frame);
	uint32_t n = b->profile.n_locations;
	int r = 0;

	if (number_index_find(&b->by_frame, hash, b->hashes, sizeof(*b->hashes), ret_location))
		return 0;
	if (n == b->max_frames)
		r = grow_frames(b);
	if (r == 0)
		r = add_location(b, frame);
	if (r == 0)
		r = number_index_add(&b->by_frame, number_hash(hash), n);
	if (r < 0)
		return r;
	b->hashes[n] = hash;
	*ret_location = n;
	return 0;
}

static int grow_samples(struct profile_builder *b)
{
	struct profile *p = &b->profile;
	uint32_t n_new = b->max_samples ? 2 * b->max_samples : FIRST_SAMPLES;

	if (p->n_samples >= LIMIT_PPROF_SAMPLES)
		return err_set(b->err, -EFBIG, "more than %u samples", LIMIT_PPROF_SAMPLES);
	p->samples = grown(p->arena, p->samples, p->n_samples, n_new, sizeof(*p->samples));
	if (!p->samples)
		return no_room(b, n_new * sizeof(*p->samples));
	b->max_samples = n_new;
	return 0;
}

int profile_builder_add_sample(struct profile_builder *b, const uint32_t *locations,
			       uint32_t n_locations, const int64_t *values)
{
	struct profile *p = &b->profile;
	size_t value_bytes = p->n_types * sizeof(*values);
	size_t bytes = value_bytes + n_locations * sizeof(*locations);
	char *copy;
	int r = 0;

	if (n_locations > LIMIT_PPROF_STACK_DEPTH)
		return err_set(b->err, -EFBIG, "stack deeper than %u", LIMIT_PPROF_STACK_DEPTH);
	if (p->n_samples == b->max_samples)
		r = grow_samples(b);
	if (r < 0)
		return r;
	copy = arena_alloc(p->arena, bytes);
	if (!copy)
		return no_room(b, bytes);
	memcpy(copy, values, value_bytes);
	if (n_locations > 0)
		memcpy(copy + value_bytes, locations, n_locations * sizeof(*locations));
	p->samples[p->n_samples++] = (struct profile_sample){
		.locations = (const uint32_t *)(const void *)(copy + value_bytes),
		.n_locations = n_locations,
		.values = (const int64_t *)(const void *)copy,
	};
	return 0;
}
