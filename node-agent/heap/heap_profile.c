/*
 * Tables: return address → its locations, texts → location, locations → stack. Elements live in
 * the arena, the hash heads on the heap. Amounts are computed at the end, because which of
 * a record's counters are in use is decided by all of them.
 */
#include "node-agent/heap/heap_profile.h"

#include <errno.h>

#include "common/intern.h"
#include "common/limits.h"
#include "common/pprof_encode.h"
#include "common/table.h"
#include "node-agent/heap/heap_scale.h"

#define N_TYPES 4u
#define GOEXIT "runtime.goexit"
#define STACK_MAX (HEAP_BUCKET_STACK_MAX + HEAP_FRAMES_MAX)

struct function {
	uint32_t texts[2]; /* the key: ids of name and file */
	uint32_t index;
	struct function *next; /* by first sight */
	UT_hash_handle hh;
};

struct location {
	uint32_t key[2]; /* index of the function, line */
	uint32_t index;
	struct location *next; /* by first sight */
	UT_hash_handle hh;
};

struct address {
	uint64_t key[2]; /* the address; 1: with what is around its inlined calls */
	uint32_t n_locations;
	int8_t is_runtime; /* -1: not asked yet */
	UT_hash_handle hh;
	uint32_t locations[];
};

struct stack {
	int64_t values[N_TYPES];
	struct stack *next; /* by first sight */
	uint32_t n_locations;
	UT_hash_handle hh;
	uint32_t locations[]; /* the key */
};

struct record {
	struct stack *stack;
	struct record *next;
	uint64_t size;
	uint64_t allocs; /* since the last round */
	struct heap_counts active;
	struct heap_counts future;
};

struct heap_profile {
	struct heap_profile_config cfg;
	struct arena arena;
	struct intern *texts;
	struct function *functions, *first_function, **last_function;
	struct location *locations, *first_location, **last_location;
	struct address *addresses;
	struct stack *stacks, *first_stack, **last_stack;
	struct record *records;
	uint32_t n_functions, n_locations;
	bool any_active; /* some record has been through a garbage collection */
	struct heap_frames frames;
	uint32_t scratch[STACK_MAX];
};

int heap_profile_new(struct heap_profile **ret, const struct heap_profile_config *cfg)
{
	CLEANUP(heap_profile_freep) struct heap_profile *p = calloc(1, sizeof(*p));
	int r;

	if (!p)
		return -ENOMEM;
	p->cfg = *cfg;
	arena_init(&p->arena, cfg->max_bytes);
	p->last_function = &p->first_function;
	p->last_location = &p->first_location;
	p->last_stack = &p->first_stack;
	r = intern_new(&p->texts, cfg->max_bytes);
	if (r < 0)
		return r;
	*ret = TAKE_PTR(p);
	return 0;
}

void heap_profile_free(struct heap_profile *p)
{
	if (!p)
		return;
	HASH_CLEAR(hh, p->functions);
	HASH_CLEAR(hh, p->locations);
	HASH_CLEAR(hh, p->addresses);
	HASH_CLEAR(hh, p->stacks);
	intern_free(p->texts);
	arena_fini(&p->arena);
	free(p);
}

static void *make(struct heap_profile *p, size_t size, int *why)
{
	void *e = arena_calloc(&p->arena, 1, size);

	if (!e)
		*why = arena_error(&p->arena, size) == -EFBIG ? -ENOBUFS : -ENOMEM;
	return e;
}

static int add_text(struct heap_profile *p, const char *text, uint32_t *ret)
{
	int r = intern_add(p->texts, text, strlen(text), ret);

	return r == -EFBIG ? -ENOBUFS : r;
}

static int find_function(struct heap_profile *p, const struct heap_frame *f, uint32_t *ret)
{
	struct function *e;
	uint32_t key[2];
	int r;

	r = add_text(p, f->function, &key[0]);
	if (r == 0)
		r = add_text(p, f->file, &key[1]);
	if (r < 0)
		return r;
	HASH_FIND(hh, p->functions, key, sizeof(key), e);
	if (!e) {
		e = make(p, sizeof(*e), &r);
		if (!e)
			return r;
		memcpy(e->texts, key, sizeof(key));
		e->index = p->n_functions;
		HASH_ADD(hh, p->functions, texts, sizeof(e->texts), e);
		if (!TABLE_ADDED(hh, e))
			return -ENOMEM;
		p->n_functions++;
		*p->last_function = e;
		p->last_function = &e->next;
	}
	*ret = e->index;
	return 0;
}

static int find_location(struct heap_profile *p, const struct heap_frame *f, uint32_t *ret)
{
	uint32_t key[2] = {0, f->line};
	struct location *e;
	int r;

	r = find_function(p, f, &key[0]);
	if (r < 0)
		return r;
	HASH_FIND(hh, p->locations, key, sizeof(key), e);
	if (!e) {
		if (p->n_locations == LIMIT_PPROF_LOCATIONS)
			return -ENOBUFS;
		e = make(p, sizeof(*e), &r);
		if (!e)
			return r;
		memcpy(e->key, key, sizeof(key));
		e->index = p->n_locations;
		HASH_ADD(hh, p->locations, key, sizeof(e->key), e);
		if (!TABLE_ADDED(hh, e))
			return -ENOMEM;
		p->n_locations++;
		*p->last_location = e;
		p->last_location = &e->next;
	}
	*ret = e->index;
	return 0;
}

static int add_address(struct heap_profile *p, const uint64_t *key, struct address **ret)
{
	const struct heap_symbols *s = &p->cfg.symbols;
	struct address *e;
	int r;

	r = s->resolve(s->ctx, key[0], key[1] != 0, &p->frames);
	if (r < 0)
		return r;
	e = make(p, sizeof(*e) + p->frames.n * sizeof(*e->locations), &r);
	if (!e)
		return r;
	memcpy(e->key, key, sizeof(e->key));
	e->is_runtime = -1;
	for (size_t i = 0; i < p->frames.n; i++) {
		/* where every goroutine begins: it says nothing */
		if (strcmp(p->frames.frames[i].function, GOEXIT) == 0)
			continue;
		r = find_location(p, &p->frames.frames[i], &e->locations[e->n_locations]);
		if (r < 0)
			return r;
		e->n_locations++;
	}
	HASH_ADD(hh, p->addresses, key, sizeof(e->key), e);
	if (!TABLE_ADDED(hh, e))
		return -ENOMEM;
	*ret = e;
	return 0;
}

static int find_address(struct heap_profile *p, uint64_t address, bool is_last,
			struct address **ret)
{
	uint64_t key[2] = {address, is_last};
	struct address *e;

	HASH_FIND(hh, p->addresses, key, sizeof(key), e);
	if (!e)
		return add_address(p, key, ret);
	*ret = e;
	return 0;
}

static bool is_runtime(struct heap_profile *p, struct address *e)
{
	if (e->is_runtime < 0)
		e->is_runtime = p->cfg.symbols.is_runtime(p->cfg.symbols.ctx, e->key[0]);
	return e->is_runtime;
}

/* Locations of a stack into p->scratch. Those of the runtime at its leaf are left out, unless all are. */
static int collect(struct heap_profile *p, const struct heap_bucket *b, bool hide, uint32_t *ret_n)
{
	uint32_t n = 0;

	for (uint32_t i = 0; i < b->n_stack; i++) {
		struct address *e = NULL;
		int r = find_address(p, b->stack[i], i + 1 == b->n_stack, &e);

		if (r < 0)
			return r;
		if (hide && is_runtime(p, e))
			continue;
		hide = false;
		memcpy(p->scratch + n, e->locations, e->n_locations * sizeof(*e->locations));
		n += e->n_locations;
	}
	*ret_n = n;
	return 0;
}

static int find_stack(struct heap_profile *p, uint32_t n, struct stack **ret)
{
	unsigned key_len = (unsigned)(n * sizeof(*p->scratch));
	struct stack *e;
	int r;

	HASH_FIND(hh, p->stacks, p->scratch, key_len, e);
	if (!e) {
		e = make(p, sizeof(*e) + key_len, &r);
		if (!e)
			return r;
		e->n_locations = n;
		memcpy(e->locations, p->scratch, key_len);
		HASH_ADD_KEYPTR(hh, p->stacks, e->locations, key_len, e);
		if (!TABLE_ADDED(hh, e))
			return -ENOMEM;
		*p->last_stack = e;
		p->last_stack = &e->next;
	}
	*ret = e;
	return 0;
}

int heap_profile_add(struct heap_profile *p, const struct heap_bucket *b, uint64_t allocs)
{
	struct record *rec;
	struct stack *stack = NULL;
	uint32_t n = 0;
	int r;

	p->any_active |= b->active.allocs != 0 || b->active.frees != 0;
	if (allocs == 0 && b->active.allocs == b->active.frees &&
	    b->active.allocs + b->future.allocs == b->active.frees + b->future.frees)
		return 0; /* nothing in it, whichever counters are taken */
	r = collect(p, b, true, &n);
	if (r == 0 && n == 0)
		r = collect(p, b, false, &n);
	if (r < 0 || n == 0)
		return r;
	r = find_stack(p, n, &stack);
	if (r < 0)
		return r;
	rec = make(p, sizeof(*rec), &r);
	if (!rec)
		return r;
	*rec = (struct record){stack, p->records, b->size, allocs, b->active, b->future};
	p->records = rec;
	return 0;
}

/* ---- the pprof ---- */

/* Before the second garbage collection nothing is active, and the runtime takes the rest. */
static void add_amounts(const struct heap_profile *p, const struct heap_profile_times *times)
{
	uint64_t rate = times->raw ? 1 : times->rate;

	for (const struct record *r = p->records; r; r = r->next) {
		uint64_t allocs = r->active.allocs, frees = r->active.frees;
		struct heap_amount made, used;

		if (!p->any_active) {
			allocs = r->future.allocs;
			frees = r->future.frees;
		}
		made = heap_scale(r->allocs, r->size, rate);
		used = heap_scale(allocs - frees, r->size, rate);
		r->stack->values[0] += made.objects;
		r->stack->values[1] += made.bytes;
		r->stack->values[2] += used.objects;
		r->stack->values[3] += used.bytes;
	}
}

static struct profile_string text_of(const struct heap_profile *p, uint32_t id)
{
	size_t len;
	const char *s = intern_get(p->texts, id, &len);

	return (struct profile_string){s, len};
}

static int fill_locations(struct heap_profile *p, struct profile *out)
{
	struct profile_line *lines;

	out->functions = arena_calloc(&p->arena, p->n_functions, sizeof(*out->functions));
	out->locations = arena_calloc(&p->arena, p->n_locations, sizeof(*out->locations));
	lines = arena_calloc(&p->arena, p->n_locations, sizeof(*lines));
	if (!out->functions || !out->locations || !lines)
		return -ENOMEM;
	for (const struct function *f = p->first_function; f; f = f->next)
		out->functions[f->index] =
			(struct profile_function){text_of(p, f->texts[0]), text_of(p, f->texts[1])};
	for (const struct location *l = p->first_location; l; l = l->next) {
		lines[l->index] = (struct profile_line){l->key[0], l->key[1]};
		out->locations[l->index] =
			(struct profile_location){.lines = &lines[l->index], .n_lines = 1};
	}
	out->n_functions = p->n_functions;
	out->n_locations = p->n_locations;
	return 0;
}

static bool has_value(const struct stack *s)
{
	return s->values[0] || s->values[1] || s->values[2] || s->values[3];
}

static int fill_samples(struct heap_profile *p, struct profile *out)
{
	out->samples = arena_calloc(&p->arena, HASH_COUNT(p->stacks), sizeof(*out->samples));
	if (!out->samples)
		return -ENOMEM;
	for (const struct stack *s = p->first_stack; s; s = s->next) {
		if (!has_value(s))
			continue;
		if (out->n_samples == LIMIT_PPROF_SAMPLES)
			return -ENOBUFS;
		out->samples[out->n_samples++] = (struct profile_sample){
			.locations = s->locations,
			.n_locations = s->n_locations,
			.values = s->values,
		};
	}
	return 0;
}

static struct profile_string view(const char *s)
{
	return (struct profile_string){s, strlen(s)};
}

int heap_profile_finish(struct heap_profile *p, const struct heap_profile_times *times,
			struct buf *out, size_t *ret_samples)
{
	struct profile_value_type types[N_TYPES] = {
		{view("go_runtime:heap_alloc_objects:count"), view("count")},
		{view("go_runtime:heap_alloc_space:bytes"), view("bytes")},
		{view("go_runtime:heap_inuse_objects:count"), view("count")},
		{view("go_runtime:heap_inuse_space:bytes"), view("bytes")},
	};
	struct profile profile = {
		.arena = &p->arena,
		.types = types,
		.n_types = N_TYPES,
		.period_type = {view("space"), view("bytes")},
		.period = (int64_t)times->rate,
		.time_ns = times->end_ns,
		.duration_ns = times->duration_ns,
	};
	int r;

	*ret_samples = 0;
	add_amounts(p, times);
	if (!p->stacks)
		return 0;
	r = fill_locations(p, &profile);
	if (r == 0)
		r = fill_samples(p, &profile);
	if (r < 0 || profile.n_samples == 0)
		return r;
	r = pprof_encode(&profile, out);
	if (r < 0)
		return r == -EFBIG ? -ENOBUFS : r;
	*ret_samples = profile.n_samples;
	return 0;
}
