/*
 * An address is resolved once per profile and looked up for every frame of every stack. What
 * it stands for is an array of frames in most general terms: inlined calls, some of them
 * wrappers. Nearly always it is one frame, though, which needs no decision but its location.
 * Addresses of that kind get a second entry, in plain_locations.h, where whole runs of them
 * are translated at once.
 *
 * That table costs more to fill than it saves in a small profile, so it is only filled once
 * many addresses have been found again.
 *
 * A resolver whose addresses are numbers needs neither: an array has the location of each.
 */
#include "node-agent/profile/stack_locations.h"

#include <errno.h>

#include "common/data/table.h"
#include "common/limits.h"
#include "node-agent/profile/number_table.h"
#include "node-agent/profile/plain_locations.h"

#define FIRST_PLACES_LOG2 8u
#define FEW_FOUND 50000u /* frames of about two thousand stacks */
#define FIRST_NUMBERS 256u

enum { EMPTY, INNERMOST, ALL }; /* stack_address.kind */

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
	struct stack_address *places;
	unsigned places_log2;
	uint32_t n; /* addresses */
	struct plain_locations
		plain[2]; /* of addresses found often: [false] innermost, [true] all */
	uint64_t n_found;
	uint32_t *numbered; /* if addresses are numbers: 1 + the location of each; 0: unknown */
	uint64_t cap_numbered;
	struct stack_address number; /* the one found last, and its frame */
	struct stack_frame number_frame;
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
	number_table_init(&l->functions, sizeof(struct function), max_bytes);
	number_table_init(&l->locations,
			  resolver->has_places ? sizeof(struct placed_location)
					       : sizeof(struct location),
			  max_bytes);
	number_table_init(&l->inlined, sizeof(struct location), max_bytes);
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
	number_table_fini(&l->functions);
	number_table_fini(&l->locations);
	number_table_fini(&l->inlined);
	free(l->places);
	plain_locations_fini(&l->plain[false]);
	plain_locations_fini(&l->plain[true]);
	free(l->numbered);
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

/* Returns the place of an address, or the empty one where it belongs. */
static struct stack_address *find_place(struct stack_address *places, unsigned log2,
					uint64_t address, uint8_t kind)
{
	/* odd, and unknown to the program that chooses the addresses */
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

/* Makes room for one more address and its frames. */
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
	uint32_t inlined = 0;
	int r;

	r = l->resolver.resolve(l->resolver.ctx, address, kind == ALL, &l->list);
	if (r == 0)
		r = reserve(l);
	for (size_t i = 0; r == 0 && i < l->list.n; i++) {
		const struct frame *f = &l->list.frames[i];
		struct stack_frame *to = &l->frames[a.first + a.n];

		if (f->inlined && i + 1 < l->list.n) {
			r = add_line(l, &l->inlined, f, inlined, &inlined);
			inlined++;
			continue;
		}
		*to = (struct stack_frame){.address = f->address, .role = f->role};
		r = add_line(l, &l->locations, f, inlined, &to->location);
		inlined = 0;
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

	a->is_packed = true;
	if (a->n != 1 || f->role != FRAME_PLAIN)
		return 0;
	return plain_locations_add(&l->plain[a->kind == ALL], a->address, f->location);
}

/* ---- numbers ---- */

static int grow_numbered(struct stack_locations *l, uint64_t number)
{
	uint64_t cap = l->cap_numbered ? 2 * l->cap_numbered : FIRST_NUMBERS;
	uint32_t *numbered;

	if (number >= cap)
		cap = number + 1;
	if (cap > l->max_bytes / sizeof(*numbered))
		return -ENOBUFS;
	numbered = reallocarray(l->numbered, cap, sizeof(*numbered));
	if (!numbered)
		return -ENOMEM;
	memset(numbered + l->cap_numbered, 0, (cap - l->cap_numbered) * sizeof(*numbered));
	l->numbered = numbered;
	l->cap_numbered = cap;
	return 0;
}

/* All frames are one location. */
static int add_number(struct stack_locations *l, uint64_t number)
{
	uint32_t inlined = 0, location = 0;
	int r;

	r = l->resolver.resolve(l->resolver.ctx, number, true, &l->list);
	if (r == 0 && number >= l->cap_numbered)
		r = grow_numbered(l, number);
	for (size_t i = 0; r == 0 && i + 1 < l->list.n; i++) {
		r = add_line(l, &l->inlined, &l->list.frames[i], inlined, &inlined);
		inlined++;
	}
	if (r == 0)
		r = add_line(l, &l->locations, &l->list.frames[l->list.n - 1], inlined, &location);
	if (r == 0)
		l->numbered[number] = location + 1;
	return r;
}

static bool is_known_number(const struct stack_locations *l, uint64_t number)
{
	return number < l->cap_numbered && l->numbered[number] != 0;
}

static int find_number(struct stack_locations *l, uint64_t number, struct stack_address **ret)
{
	int r = is_known_number(l, number) ? 0 : add_number(l, number);

	if (r < 0)
		return r;
	l->number_frame = (struct stack_frame){.location = l->numbered[number] - 1};
	l->number = (struct stack_address){.n = 1, .kind = ALL, .is_runtime = false};
	*ret = &l->number;
	return 0;
}

static size_t pack_numbers(const struct stack_locations *l, const uint64_t *numbers, size_t n,
			   uint8_t *to, size_t *ret_len)
{
	size_t i, len = 0;

	for (i = 0; i < n && is_known_number(l, numbers[i]); i++)
		len += pprof_pack_location(to + len, l->numbered[numbers[i]] - 1);
	*ret_len = len;
	return i;
}

/* ---- lookups ---- */

int stack_locations_find(struct stack_locations *l, uint64_t address, bool all,
			 struct stack_address **ret)
{
	uint8_t kind = all ? ALL : INNERMOST;
	struct stack_address *a;

	if (l->resolver.has_numbers)
		return find_number(l, address, ret);
	a = find_place(l->places, l->places_log2, address, kind);
	if (a->kind == EMPTY)
		return add_address(l, address, kind, ret);
	*ret = a;
	return l->n_found++ < FEW_FOUND || a->is_packed ? 0 : put_plain(l, a);
}

size_t stack_locations_pack(const struct stack_locations *l, const uint64_t *addresses, size_t n,
			    bool all, uint8_t *to, size_t *ret_len)
{
	if (l->resolver.has_numbers)
		return pack_numbers(l, addresses, n, to, ret_len);
	return plain_locations_pack(&l->plain[all], addresses, n, to, ret_len);
}

const struct stack_frame *stack_locations_frames(const struct stack_locations *l,
						 const struct stack_address *a)
{
	return a == &l->number ? &l->number_frame : l->frames + a->first;
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
	free(TAKE_PTR(l->places));
	plain_locations_fini(&l->plain[false]);
	plain_locations_fini(&l->plain[true]);
	free(TAKE_PTR(l->numbered));
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
