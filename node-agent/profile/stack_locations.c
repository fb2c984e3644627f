#include "node-agent/profile/stack_locations.h"

#include <errno.h>

#include "common/data/array.h"
#include "common/data/number_index.h"
#include "common/data/number_table.h"
#include "common/limits.h"

struct function {
	const char *name;
	const char *file;
	uint64_t start_line; /* wide: no padding */
};

/* A line of a location; the outermost one stands for all of it. */
struct location {
	uint32_t function; /* its number */
	uint32_t line;
	uint32_t inlined; /* 1 + the number of the line that is inlined into this one; 0: none */
};

/* A location if the resolver has places: equal ones at different addresses are two. */
struct placed_location {
	struct location line;
	uint32_t mapping;
	uint32_t address[2]; /* low half, high half: no padding */
};

struct stack_locations {
	struct frame_resolver resolver;
	size_t max_bytes;
	struct number_table functions; /* of struct function */
	struct number_table locations; /* of struct location or struct placed_location */
	struct number_table inlined;   /* of struct location: lines that are not the outermost */
	struct stack_address *addresses;
	uint32_t n_addresses, cap_addresses;
	struct number_index by_address;
	struct stack_frame *frames;
	uint32_t n_frames, cap_frames;
	struct frame_list list;
};

int stack_locations_new(struct stack_locations **ret, const struct frame_resolver *resolver,
			size_t max_bytes)
{
	struct stack_locations *l = calloc(1, sizeof(*l));

	if (!l)
		return -ENOMEM;
	l->resolver = *resolver;
	l->max_bytes = max_bytes;
	number_table_init(&l->functions, sizeof(struct function), max_bytes);
	number_table_init(&l->locations,
			  resolver->has_places ? sizeof(struct placed_location)
					       : sizeof(struct location),
			  max_bytes);
	number_table_init(&l->inlined, sizeof(struct location), max_bytes);
	*ret = l;
	return 0;
}

void stack_locations_free(struct stack_locations *l)
{
	if (!l)
		return;
	number_table_fini(&l->functions);
	number_table_fini(&l->locations);
	number_table_fini(&l->inlined);
	free(l->addresses);
	number_index_fini(&l->by_address);
	free(l->frames);
	free(l);
}

/* ---- functions and locations ---- */

static int add_line(struct stack_locations *l, struct number_table *to, const struct frame *f,
		    uint32_t inlined, uint32_t *ret)
{
	const struct function function = {f->function, f->file, f->start_line};
	struct placed_location p = {.line = {.line = f->line, .inlined = inlined}};
	int r;

	if (to->n == LIMIT_PPROF_LOCATIONS)
		return -ENOBUFS;
	if (l->resolver.has_places) {
		p.mapping = l->list.mapping;
		p.address[0] = (uint32_t)l->list.code_address;
		p.address[1] = (uint32_t)(l->list.code_address >> 32);
	}
	r = number_table_add(&l->functions, &function, &p.line.function);
	return r == 0 ? number_table_add(to, &p, ret) : r;
}

int stack_locations_add(struct stack_locations *l, const struct frame *f, uint32_t *ret)
{
	l->list.mapping = 0;
	l->list.code_address = 0;
	return add_line(l, &l->locations, f, 0, ret);
}

/* ---- addresses ---- */

static uint32_t hash_of(uint64_t address, bool all)
{
	return number_hash(address << 1 | all);
}

static bool is_within_limit(const struct stack_locations *l)
{
	size_t bytes = 2 * (size_t)l->cap_addresses * sizeof(*l->addresses) +
		       2 * (size_t)l->cap_frames * sizeof(*l->frames);

	return bytes + number_index_bytes_with_one_more(&l->by_address) <= l->max_bytes;
}

/* Makes room for one more address and its frames. */
static int reserve(struct stack_locations *l)
{
	int r = is_within_limit(l) ? 0 : -ENOBUFS;

	if (r < 0)
		return r;
	r = ARRAY_RESERVE(l->addresses, l->cap_addresses, l->n_addresses + 1);
	if (r < 0)
		return r;
	return ARRAY_RESERVE(l->frames, l->cap_frames, l->n_frames + FRAMES_PER_ADDRESS_MAX);
}

static int add_frames(struct stack_locations *l, struct stack_address *a)
{
	uint32_t inlined = 0;
	int r = 0;

	for (size_t i = 0; r == 0 && i < l->list.n; i++) {
		const struct frame *f = &l->list.frames[i];
		struct stack_frame *to = &l->frames[a->first + a->n];

		if (f->inlined && i + 1 < l->list.n) {
			r = add_line(l, &l->inlined, f, inlined, &inlined);
			inlined++;
			continue;
		}
		*to = (struct stack_frame){.address = f->address, .role = f->role};
		r = add_line(l, &l->locations, f, inlined, &to->location);
		inlined = 0;
		a->n++;
	}
	return r;
}

static int add_address(struct stack_locations *l, uint64_t address, bool all,
		       struct stack_address **ret)
{
	struct stack_address a = {
		.address = address, .first = l->n_frames, .all = all, .is_runtime = -1};
	int r = l->resolver.resolve(l->resolver.ctx, address, all, &l->list);

	if (r == 0)
		r = reserve(l);
	if (r == 0)
		r = add_frames(l, &a);
	if (r == 0)
		r = number_index_add(&l->by_address, hash_of(address, all), l->n_addresses);
	if (r < 0)
		return r;
	if (a.n == 1 && l->frames[a.first].role == FRAME_PLAIN)
		a.plain = l->frames[a.first].location + 1;
	l->n_frames += a.n;
	l->addresses[l->n_addresses] = a;
	*ret = &l->addresses[l->n_addresses++];
	return 0;
}

int stack_locations_find(struct stack_locations *l, uint64_t address, bool all,
			 struct stack_address **ret)
{
	uint32_t hash = hash_of(address, all), at = hash, number;

	while (number_index_next(&l->by_address, hash, &at, &number)) {
		*ret = &l->addresses[number];
		if ((*ret)->address == address && (*ret)->all == all)
			return 0;
	}
	return add_address(l, address, all, ret);
}

const struct stack_frame *stack_locations_frames(const struct stack_locations *l,
						 const struct stack_address *a)
{
	return l->frames + a->first;
}

bool stack_locations_is_runtime(struct stack_locations *l, struct stack_address *a)
{
	if (a->is_runtime < 0)
		a->is_runtime = l->resolver.is_runtime &&
				l->resolver.is_runtime(l->resolver.ctx, a->address);
	return a->is_runtime;
}

void stack_locations_seal(struct stack_locations *l)
{
	free(TAKE_PTR(l->addresses));
	number_index_fini(&l->by_address);
	free(TAKE_PTR(l->frames));
	number_table_seal(&l->functions);
	number_table_seal(&l->locations);
	number_table_seal(&l->inlined);
}

/* ---- the pprof ---- */

static struct profile_string view(const char *s)
{
	return (struct profile_string){s, strlen(s)};
}

uint32_t stack_locations_count(const struct stack_locations *l)
{
	return l->locations.n;
}

/* The line that is inlined into this one, or NULL. */
static const struct location *inlined_into(const struct stack_locations *l,
					   const struct location *line)
{
	return line->inlined ? number_table_get(&l->inlined, line->inlined - 1) : NULL;
}

size_t stack_locations_text_bytes(const struct stack_locations *l, uint32_t location)
{
	size_t n = 0;

	for (const struct location *e = number_table_get(&l->locations, location); e;
	     e = inlined_into(l, e)) {
		const struct function *f = number_table_get(&l->functions, e->function);

		n += strlen(f->name) + strlen(" :4294967295:inlined") + strlen(f->file);
	}
	return n;
}

static void write_location(const struct stack_locations *l, uint32_t number, struct pprof_writer *w)
{
	struct profile_line lines[FRAMES_PER_ADDRESS_MAX];
	struct profile_location location = {.lines = lines + ARRAY_SIZE(lines)};
	const struct placed_location *placed =
		l->resolver.has_places ? number_table_get(&l->locations, number) : NULL;

	/* from the outermost one to the innermost, which is written first */
	for (const struct location *e = number_table_get(&l->locations, number); e;
	     e = inlined_into(l, e)) {
		location.n_lines++;
		location.lines = lines + ARRAY_SIZE(lines) - location.n_lines;
		lines[ARRAY_SIZE(lines) - location.n_lines] =
			(struct profile_line){e->function, e->line};
	}
	if (placed) {
		location.mapping = placed->mapping;
		location.address = (uint64_t)placed->address[1] << 32 | placed->address[0];
	}
	pprof_writer_put_location(w, &location);
}

void stack_locations_write(const struct stack_locations *l, struct pprof_writer *w)
{
	for (uint32_t i = 0; i < l->locations.n; i++)
		write_location(l, i, w);
	for (uint32_t i = 0; i < l->functions.n; i++) {
		const struct function *e = number_table_get(&l->functions, i);
		const struct profile_function f = {view(e->name), view(e->file),
						   (int64_t)e->start_line};

		pprof_writer_put_function(w, &f);
	}
}
