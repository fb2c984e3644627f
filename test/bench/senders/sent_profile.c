/*
 * Nothing is kept of a stack but its number: its frames are a walk through the tree of calls,
 * decided by hashes of the number, so that a thousand services cost no memory. Two stacks share
 * the frames down to where their walks part, as those of a program do. A third of the functions
 * is common to all services, like those of a runtime and of libraries.
 */
#include "test/bench/senders/sent_profile.h"

#include <errno.h>

#include "common/data/arena.h"
#include "common/pprof/pprof_encode.h"
#include "common/system/clock.h"

#define FUNCTIONS 1200u /* of a service, those that all have included */
#define COMMON_FUNCTIONS 400u
#define LINES 2u /* calls in a function */
#define MIN_DEPTH 15u
#define MORE_DEPTH 30u
#define TEXT(s) ((struct profile_string){(s), sizeof(s) - 1})

struct sent_profile_maker {
	struct sent_profile_shape shape;
	double *zipf; /* cumulated */
	uint64_t random;
	struct arena arena;
	uint32_t *counts;                        /* by stack of the pool */
	uint32_t function_at[FUNCTIONS];         /* index in the profile + 1 */
	uint32_t location_at[FUNCTIONS * LINES]; /* likewise */
	struct profile_function functions[FUNCTIONS];
	struct profile_location locations[FUNCTIONS * LINES];
	struct profile_sample *samples;
	struct profile profile;
};

static uint64_t mix(uint64_t x)
{
	x ^= x >> 31;
	x *= UINT64_C(0x7fb5d329728ea185);
	x ^= x >> 27;
	x *= UINT64_C(0x81dadef4bc2dd44d);
	return x ^ x >> 33;
}

static uint64_t next_random(struct sent_profile_maker *m)
{
	return mix(m->random += UINT64_C(0x9e3779b97f4a7c15));
}

int sent_profile_maker_new(struct sent_profile_maker **ret, const struct sent_profile_shape *shape)
{
	CLEANUP(sent_profile_maker_freep)
	struct sent_profile_maker *m = calloc(1, sizeof(*m));
	double sum = 0;

	if (!m)
		return -ENOMEM;
	if (shape->n_pool == 0 || shape->n_pool > SENT_MAX_POOL)
		return -EINVAL;
	m->shape = *shape;
	m->random = clock_realtime_ns();
	arena_init(&m->arena, (size_t)256 << 20);
	m->zipf = calloc(shape->n_pool, sizeof(*m->zipf));
	m->counts = calloc(shape->n_pool, sizeof(*m->counts));
	m->samples = calloc(shape->n_pool + shape->n_samples, sizeof(*m->samples));
	if (!m->zipf || !m->counts || !m->samples)
		return -ENOMEM;
	for (unsigned i = 0; i < shape->n_pool; i++)
		m->zipf[i] = sum += 1.0 / (i + 1);
	*ret = TAKE_PTR(m);
	return 0;
}

void sent_profile_maker_free(struct sent_profile_maker *m)
{
	if (!m)
		return;
	arena_fini(&m->arena);
	free(m->zipf);
	free(m->counts);
	free(m->samples);
	free(m);
}

static unsigned pick_stack(struct sent_profile_maker *m)
{
	unsigned n = m->shape.n_pool, low = 0, high = n - 1;
	double at = (double)(next_random(m) >> 11) / (double)(UINT64_C(1) << 53) * m->zipf[n - 1];

	while (low < high) {
		unsigned middle = (low + high) / 2;

		if (m->zipf[middle] < at)
			low = middle + 1;
		else
			high = middle;
	}
	return low;
}

static struct profile_string copy(struct arena *a, const char *text, int len)
{
	return (struct profile_string){arena_strndup(a, text, (size_t)len), (size_t)len};
}

/* Returns an index into the profile's functions, or -ENOMEM. */
static int add_function(struct sent_profile_maker *m, unsigned service, unsigned id)
{
	struct profile *p = &m->profile;
	struct profile_function *f = &m->functions[p->n_functions];
	unsigned owner = id < COMMON_FUNCTIONS ? 0 : service + 1;
	char text[128];
	int len;

	if (m->function_at[id])
		return (int)m->function_at[id] - 1;
	len = snprintf(text, sizeof(text),
		       "example.com/service%u/internal/package%u.(*Worker).handle%u", owner,
		       id % 40, id);
	f->name = copy(&m->arena, text, len);
	len = snprintf(text, sizeof(text), "/src/service%u/internal/package%u/file%u.go", owner,
		       id % 40, id % 400);
	f->file = copy(&m->arena, text, len);
	if (!f->name.data || !f->file.data)
		return -ENOMEM;
	m->function_at[id] = ++p->n_functions;
	return (int)p->n_functions - 1;
}

/* Returns an index into the profile's locations, or -ENOMEM. */
static int add_location(struct sent_profile_maker *m, unsigned service, unsigned id, unsigned line)
{
	struct profile *p = &m->profile;
	uint32_t *at = &m->location_at[id * LINES + line];
	struct profile_line *l;
	int function;

	if (*at)
		return (int)*at - 1;
	function = add_function(m, service, id);
	l = arena_calloc(&m->arena, 1, sizeof(*l));
	if (function < 0 || !l)
		return -ENOMEM;
	*l = (struct profile_line){.function = (uint32_t)function, .line = 10 + 7 * line};
	m->locations[p->n_locations] = (struct profile_location){
		.lines = l,
		.n_lines = 1,
		.address = 0x400000 + UINT64_C(256) * id + 16 * line,
	};
	*at = ++p->n_locations;
	return (int)p->n_locations - 1;
}

/* number: of the stack within its service. */
static int add_stack(struct sent_profile_maker *m, unsigned service, uint64_t number,
		     uint32_t count)
{
	uint64_t walk = mix(number + 1), path = mix(service + 1);
	unsigned depth = MIN_DEPTH + (unsigned)(walk % (MORE_DEPTH + 1));
	uint32_t *locations = arena_calloc(&m->arena, depth, sizeof(*locations));
	int64_t *value = arena_alloc(&m->arena, sizeof(*value));

	if (!locations || !value)
		return -ENOMEM;
	for (unsigned d = 0; d < depth; d++) {
		/* mostly the same call of a function; the last frames part equal walks */
		unsigned branch = (walk >> (2 * d % 62) & 3) == 3;
		int location;

		path = mix(path % FUNCTIONS + FUNCTIONS * (service + (uint64_t)branch * 7919) +
			   (d + 4 > depth ? number << 20 : 0));
		location = add_location(m, service, (unsigned)(path % FUNCTIONS), branch);
		if (location < 0)
			return location;
		locations[depth - 1 - d] = (uint32_t)location;
	}
	*value = (int64_t)count * 10101010;
	m->samples[m->profile.n_samples++] = (struct profile_sample){locations, depth, value};
	return 0;
}

static void begin(struct sent_profile_maker *m)
{
	static struct profile_value_type type = {TEXT("ebpf:cpu:nanoseconds"), TEXT("nanoseconds")};

	arena_clear(&m->arena);
	memset(m->function_at, 0, sizeof(m->function_at));
	memset(m->location_at, 0, sizeof(m->location_at));
	memset(m->counts, 0, m->shape.n_pool * sizeof(*m->counts));
	m->profile = (struct profile){
		.arena = &m->arena,
		.types = &type,
		.n_types = 1,
		.functions = m->functions,
		.locations = m->locations,
		.samples = m->samples,
		.period_type = {TEXT("cpu"), TEXT("nanoseconds")},
		.period = 10101010,
		.time_ns = (int64_t)clock_realtime_ns(),
		.duration_ns = (int64_t)m->shape.duration_ns,
	};
}

int sent_profile_make(struct sent_profile_maker *m, unsigned service, struct buf *out)
{
	unsigned n_new = 0;
	int r = 0;

	begin(m);
	for (unsigned i = 0; i < m->shape.n_samples; i++) {
		if (next_random(m) % 1000000 < m->shape.new_per_million)
			n_new++;
		else
			m->counts[pick_stack(m)]++;
	}
	for (unsigned i = 0; i < m->shape.n_pool && r == 0; i++)
		if (m->counts[i] > 0)
			r = add_stack(m, service, i, m->counts[i]);
	for (unsigned i = 0; i < n_new && r == 0; i++)
		r = add_stack(m, service, SENT_MAX_POOL + next_random(m) / 2, 1);
	if (r == 0)
		r = pprof_encode(&m->profile, out);
	return r < 0 ? r : (int)m->profile.n_samples;
}
