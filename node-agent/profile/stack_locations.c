/*
 * Addresses are looked up for each frame of each stack, and the rest once per address and profile: tables with open
 * addressing, of 16 bytes per address, and of numbers of functions and of locations.
 */
#include "node-agent/profile/stack_locations.h"

#include <errno.h>

#include "common/data/table.h"
#include "common/limits.h"
#include "node-agent/profile/plain_locations.h"

#define FIRST_PLACES_LOG2 8u
#define FIRST_ELEMENTS 64u
#define FEW_FOUND 50000u /* two thousand stacks */

enum { EMPTY, INNERMOST, ALL }; /* stack_address.kind */

struct function {
	const char *name;
	const char *file;
};

struct location {
	uint32_t function; /* its number */
	uint32_t line;
};

/* Numbers of elements by their hashes: twice as many slots as there is room for elements. */
struct numbers {
	uint32_t *slots; /* 1 + the number; 0: empty */
	uint32_t n, cap; /* elements; cap is 0 or a power of two */
};

struct stack_locations {
	struct frame_resolver resolver;
	size_t max_bytes;
	struct function *functions; /* by first sight, as the locations */
	struct numbers function_numbers;
	struct location *locations;
	struct numbers location_numbers;
	struct stack_address *places;
	unsigned places_log2;
	uint32_t n;                      /* addresses */
	struct plain_locations plain[2]; /* innermost, all; of those that are found often */
	uint64_t n_found;
	struct stack_frame *frames;
	uint32_t n_frames, cap_frames;
	struct frame_list list;
};

int stack_locations_new(struct stack_locations **ret, const struct frame_resolver *resolver,
			size_t max_bytes)
{
	CLEANUP(stack_locations_freep) struct stack_locations *l = calloc(1, sizeof(*l));

	if (!l)
		return -ENOMEM;
	l->resolver = *resolver;
	l->max_bytes = max_bytes;
	l->places_log2 = FIRST_PLACES_LOG2;
	l->places = calloc((size_t)1 << l->places_log2, sizeof(*l->places));
	if (!l->places)
		return -ENOMEM;
	*ret = TAKE_PTR(l);
	return 0;
}

void stack_locations_free(struct stack_locations *l)
{
	if (!l)
		return;
	free(l->functions);
	free(l->function_numbers.slots);
	free(l->locations);
	free(l->location_numbers.slots);
	free(l->places);
	plain_locations_fini(&l->plain[false]);
	plain_locations_fini(&l->plain[true]);
	free(l->frames);
	free(l);
}

/* ---- functions and locations ---- */

static uint32_t hash_of(uint64_t a, uint64_t b)
{
	/* what the numbers are is not for those to know whose addresses and lines these are */
	uint64_t h = (a ^ table_seed) * UINT64_C(0x9e3779b97f4a7c15) + b;

	h = (h ^ h >> 32) * (table_seed | 1);
	return (uint32_t)(h >> 32);
}

static uint32_t function_hash(const struct function *f)
{
	return hash_of((uintptr_t)f->name, (uintptr_t)f->file);
}

static uint32_t location_hash(const struct location *l)
{
	return hash_of(l->function, l->line);
}

static void put_number(struct numbers *t, uint32_t hash, uint32_t number)
{
	uint32_t mask = 2 * t->cap - 1, i = hash & mask;

	while (t->slots[i] != 0)
		i = (i + 1) & mask;
	t->slots[i] = number + 1;
}

static uint32_t next_cap(const struct numbers *t)
{
	return t->cap ? t->cap * 2 : FIRST_ELEMENTS;
}

/* To this cap, for which there is room among the elements. The slots are empty then: the caller puts the numbers there are. */
static int grow_numbers(struct numbers *t, uint32_t cap, size_t max_bytes)
{
	uint32_t *slots;

	if (2 * (size_t)cap * sizeof(*slots) > max_bytes)
		return -ENOBUFS;
	slots = calloc(2 * (size_t)cap, sizeof(*slots));
	if (!slots)
		return -ENOMEM;
	free(t->slots);
	t->slots = slots;
	t->cap = cap;
	return 0;
}

/* Room for one more. */
static int reserve_function(struct stack_locations *l)
{
	struct numbers *t = &l->function_numbers;
	struct function *functions;
	int r;

	if (t->n < t->cap)
		return 0;
	functions = realloc(l->functions, next_cap(t) * sizeof(*functions));
	if (!functions)
		return -ENOMEM;
	l->functions = functions;
	r = grow_numbers(t, next_cap(t), l->max_bytes);
	if (r < 0)
		return r;
	for (uint32_t i = 0; i < t->n; i++)
		put_number(t, function_hash(&functions[i]), i);
	return 0;
}

static int reserve_location(struct stack_locations *l)
{
	struct numbers *t = &l->location_numbers;
	struct location *locations;
	int r;

	if (t->n == LIMIT_PPROF_LOCATIONS)
		return -ENOBUFS;
	if (t->n < t->cap)
		return 0;
	locations = realloc(l->locations, next_cap(t) * sizeof(*locations));
	if (!locations)
		return -ENOMEM;
	l->locations = locations;
	r = grow_numbers(t, next_cap(t), l->max_bytes);
	if (r < 0)
		return r;
	for (uint32_t i = 0; i < t->n; i++)
		put_number(t, location_hash(&locations[i]), i);
	return 0;
}

static int find_function(struct stack_locations *l, const struct function *f, uint32_t *ret)
{
	struct numbers *t = &l->function_numbers;
	uint32_t hash = function_hash(f), mask;
	int r = reserve_function(l);

	if (r < 0)
		return r;
	mask = 2 * t->cap - 1;
	for (uint32_t i = hash & mask; t->slots[i] != 0; i = (i + 1) & mask) {
		const struct function *e = &l->functions[t->slots[i] - 1];

		if (e->name == f->name && e->file == f->file) {
			*ret = t->slots[i] - 1;
			return 0;
		}
	}
	*ret = t->n++;
	l->functions[*ret] = *f;
	put_number(t, hash, *ret);
	return 0;
}

static int find_location(struct stack_locations *l, const struct location *sought, uint32_t *ret)
{
	struct numbers *t = &l->location_numbers;
	uint32_t hash = location_hash(sought), mask;
	int r = reserve_location(l);

	if (r < 0)
		return r;
	mask = 2 * t->cap - 1;
	for (uint32_t i = hash & mask; t->slots[i] != 0; i = (i + 1) & mask) {
		const struct location *e = &l->locations[t->slots[i] - 1];

		if (e->function == sought->function && e->line == sought->line) {
			*ret = t->slots[i] - 1;
			return 0;
		}
	}
	*ret = t->n++;
	l->locations[*ret] = *sought;
	put_number(t, hash, *ret);
	return 0;
}

int stack_locations_add(struct stack_locations *l, const struct frame *f, uint32_t *ret)
{
	const struct function function = {f->function, f->file};
	struct location location = {.line = f->line};
	int r = find_function(l, &function, &location.function);

	return r == 0 ? find_location(l, &location, ret) : r;
}

/* ---- addresses ---- */

/* The place of an address, or the empty one where it belongs. */
static struct stack_address *find_place(struct stack_address *places, unsigned log2,
					uint64_t address, uint8_t kind)
{
	/* odd, and not known to who makes the addresses */
	uint64_t factor = table_seed | 1;
	size_t mask = ((size_t)1 << log2) - 1;
	size_t i = (size_t)(((address << 1 | (kind == ALL)) * factor) >> (64 - log2));

	while (places[i].kind != EMPTY && (places[i].address != address || places[i].kind != kind))
		i = (i + 1) & mask;
	return &places[i];
}

static int grow_places(struct stack_locations *l)
{
	size_t n = (size_t)1 << l->places_log2;
	struct stack_address *places;

	if (2 * n > l->max_bytes / sizeof(*places))
		return -ENOBUFS;
	places = calloc(2 * n, sizeof(*places));
	if (!places)
		return -ENOMEM;
	for (size_t i = 0; i < n; i++) {
		const struct stack_address *a = &l->places[i];

		if (a->kind != EMPTY)
			*find_place(places, l->places_log2 + 1, a->address, a->kind) = *a;
	}
	free(l->places);
	l->places = places;
	l->places_log2++;
	return 0;
}

/* Room for the frames of one more address. */
static int reserve(struct stack_locations *l)
{
	struct stack_frame *frames;
	uint32_t cap = l->cap_frames ? l->cap_frames * 2 : 4 * FRAMES_PER_ADDRESS_MAX;

	if (((size_t)l->n + 1) * 2 > (size_t)1 << l->places_log2) {
		int r = grow_places(l);

		if (r < 0)
			return r;
	}
	if (l->cap_frames - l->n_frames >= FRAMES_PER_ADDRESS_MAX)
		return 0;
	if (cap > l->max_bytes / sizeof(*frames))
		return -ENOBUFS;
	frames = realloc(l->frames, cap * sizeof(*frames));
	if (!frames)
		return -ENOMEM;
	l->frames = frames;
	l->cap_frames = cap;
	return 0;
}

static int add_address(struct stack_locations *l, uint64_t address, uint8_t kind,
		       struct stack_address **ret)
{
	struct stack_address a = {
		.address = address, .first = l->n_frames, .kind = kind, .is_runtime = -1};
	int r;

	r = l->resolver.resolve(l->resolver.ctx, address, kind == ALL, &l->list);
	if (r == 0)
		r = reserve(l);
	for (size_t i = 0; r == 0 && i < l->list.n; i++) {
		const struct frame *f = &l->list.frames[i];
		struct stack_frame *to = &l->frames[a.first + a.n];

		*to = (struct stack_frame){.address = f->address, .role = f->role};
		r = stack_locations_add(l, f, &to->location);
		a.n++;
	}
	if (r < 0)
		return r;
	l->n_frames += a.n;
	l->n++;
	*ret = find_place(l->places, l->places_log2, address, kind);
	**ret = a;
	return 0;
}

static int put_plain(struct stack_locations *l, struct stack_address *a)
{
	const struct stack_frame *f = &l->frames[a->first];

	a->was_put = true;
	if (a->n != 1 || f->role != FRAME_PLAIN)
		return 0;
	return plain_locations_add(&l->plain[a->kind == ALL], a->address, f->location);
}

int stack_locations_find(struct stack_locations *l, uint64_t address, bool all,
			 struct stack_address **ret)
{
	uint8_t kind = all ? ALL : INNERMOST;
	struct stack_address *a = find_place(l->places, l->places_log2, address, kind);

	if (a->kind == EMPTY)
		return add_address(l, address, kind, ret);
	*ret = a;
	/* a small profile would have no use for it */
	return l->n_found++ < FEW_FOUND || a->was_put ? 0 : put_plain(l, a);
}

size_t stack_locations_pack(const struct stack_locations *l, const uint64_t *addresses, size_t n,
			    bool all, uint8_t *to, size_t *ret_len)
{
	return plain_locations_pack(&l->plain[all], addresses, n, to, ret_len);
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

/* ---- the pprof ---- */

static struct profile_string view(const char *s)
{
	return (struct profile_string){s, strlen(s)};
}

void stack_locations_write(const struct stack_locations *l, struct pprof_writer *w)
{
	for (uint32_t i = 0; i < l->location_numbers.n; i++) {
		const struct profile_line line = {l->locations[i].function, l->locations[i].line};
		const struct profile_location location = {.lines = &line, .n_lines = 1};

		pprof_writer_put_location(w, &location);
	}
	for (uint32_t i = 0; i < l->function_numbers.n; i++) {
		const struct profile_function f = {view(l->functions[i].name),
						   view(l->functions[i].file)};

		pprof_writer_put_function(w, &f);
	}
}
