/*
 * The aggregator of the agent (stack_profile.h) knows stacks of addresses. A frame of a recording
 * has a name instead, so a number takes the place of its address: which function, and which line.
 * Functions are numbered from 1 in the whole recording; a map translates the numbers of one batch
 * of stacks.
 *
 * The same call may be inlined in one sample and not in another, so frames are never marked as
 * inlined: stacks that differ in nothing else would be two.
 *
 * async-profiler stops at JAVA_STACK_DEPTH frames and does not mark such a stack. Without its root
 * it would stand beside the stacks of its thread as if it were whole, so it gets a frame
 * "[truncated]", as in CPU profiles, which the receiver counts.
 */
#include "node-agent/java/profile/java_stacks.h"

#include <errno.h>

#include "common/data/intern.h"
#include "common/limits.h"
#include "node-agent/java/profile/java_commands.h"

#define NAMES_BYTES ((size_t)32 * 1024 * 1024)
#define PROFILE_BYTES ((size_t)32 * 1024 * 1024)
#define LINE_BITS 32u
_Static_assert(STACK_PROFILE_DEPTH_MAX > JAVA_STACK_DEPTH, "room for [truncated]");

static const struct {
	const char *types[STACK_VALUES_MAX];
	const char *units[STACK_VALUES_MAX];
	size_t n;
	const char *period_type;
	const char *period_unit;
} kinds[JAVA_PROFILES] = {
	[JAVA_PROFILE_CPU] = {{"java:cpu:nanoseconds"}, {"nanoseconds"}, 1, "cpu", "nanoseconds"},
	[JAVA_PROFILE_ALLOC] = {{"java:heap_alloc_objects:count", "java:heap_alloc_space:bytes"},
				{"count", "bytes"},
				2,
				"space",
				"bytes"},
	[JAVA_PROFILE_LOCK] = {{"java:lock_contentions:count", "java:lock_delay:nanoseconds"},
			       {"count", "nanoseconds"},
			       2,
			       "delay",
			       "nanoseconds"},
	[JAVA_PROFILE_WALL] =
		{{"java:wall:nanoseconds"}, {"nanoseconds"}, 1, "wall", "nanoseconds"},
};

/* Numbers of the texts of a function. */
struct function {
	uint32_t name;
	uint32_t file;
};

struct java_stacks {
	struct stack_profile *profiles[JAVA_PROFILES]; /* NULL until there is a stack */
	struct java_pprof pprofs[JAVA_PROFILES];
	struct intern *names;
	struct intern *functions; /* keys are struct function */
	uint32_t batch;           /* that the map is of */
	uint32_t *map;            /* function_id of the batch → number; 0: unknown */
	size_t map_size;
	struct java_totals totals;
	uint64_t n_lost;
	uint64_t addresses[STACK_PROFILE_DEPTH_MAX];
};

/* ---- create and destroy ---- */

int java_stacks_new(struct java_stacks **ret)
{
	CLEANUP(java_stacks_freep) struct java_stacks *s = calloc(1, sizeof(*s));
	int r;

	if (!s)
		return -ENOMEM;
	for (int i = 0; i < JAVA_PROFILES; i++)
		buf_init(&s->pprofs[i].pprof, LIMIT_UPLOAD_BYTES);
	r = intern_new(&s->names, NAMES_BYTES);
	if (r == 0)
		r = intern_new(&s->functions, NAMES_BYTES);
	if (r < 0)
		return r;
	*ret = TAKE_PTR(s);
	return 0;
}

void java_pprof_fini(struct java_pprof *p)
{
	buf_fini(&p->pprof);
	stack_profile_parts_fini(&p->more);
}

void java_stacks_free(struct java_stacks *s)
{
	if (!s)
		return;
	for (int i = 0; i < JAVA_PROFILES; i++) {
		stack_profile_free(s->profiles[i]);
		java_pprof_fini(&s->pprofs[i]);
	}
	intern_free(s->names);
	intern_free(s->functions);
	free(s->map);
	free(s);
}

/* ---- frames ---- */

static int resolve(void *ctx, uint64_t address, bool all, struct frame_list *ret)
{
	const struct java_stacks *s = ctx;
	struct function f;
	size_t len;

	(void)all;
	memcpy(&f, intern_get(s->functions, (uint32_t)(address >> LINE_BITS), &len), sizeof(f));
	ret->frames[0] = (struct frame){
		.function = intern_get(s->names, f.name, &len),
		.file = intern_get(s->names, f.file, &len),
		.line = (uint32_t)address,
		.address = address,
	};
	ret->n = 1;
	return 0;
}

static int begin_batch(struct java_stacks *s, uint32_t batch)
{
	if (s->map)
		memset(s->map, 0, s->map_size * sizeof(*s->map));
	s->batch = batch;
	return 0;
}

static int reserve_map(struct java_stacks *s, uint32_t id)
{
	size_t size = s->map_size > 0 ? s->map_size : 1024;
	uint32_t *map;

	if (id < s->map_size)
		return 0;
	while (size <= id)
		size *= 2;
	map = reallocarray(s->map, size, sizeof(*map));
	if (!map)
		return -ENOMEM;
	memset(map + s->map_size, 0, (size - s->map_size) * sizeof(*map));
	s->map = map;
	s->map_size = size;
	return 0;
}

/* Returns 0, -ENOMEM, or -EFBIG if there are too many names. */
static int add_function(struct java_stacks *s, const char *name, const char *file, uint32_t *ret)
{
	struct function function;
	int r = intern_add(s->names, name, strlen(name), &function.name);

	if (r < 0)
		return r;
	r = intern_add(s->names, file, strlen(file), &function.file);
	if (r < 0)
		return r;
	return intern_add(s->functions, (const char *)&function, sizeof(function), ret);
}

/* As add_function(). */
static int number_function(struct java_stacks *s, const struct jfr_frame *f, uint32_t *ret)
{
	int r = reserve_map(s, f->function_id);

	if (r < 0)
		return r;
	if (s->map[f->function_id] != 0) {
		*ret = s->map[f->function_id];
		return 0;
	}
	r = add_function(s, f->function, f->file, ret);
	if (r == 0)
		s->map[f->function_id] = *ret;
	return r;
}

/* Frames beyond the limit are those next to the root; "[truncated]" stands for them. */
static int number_frames(struct java_stacks *s, const struct jfr_stack *stack, size_t *ret_n)
{
	const size_t max = STACK_PROFILE_DEPTH_MAX - 1;
	size_t n = stack->n_frames < max ? stack->n_frames : max;
	uint32_t number = 0;

	for (size_t i = 0; i < n; i++) {
		int r = number_function(s, &stack->frames[i], &number);

		if (r < 0)
			return r;
		s->addresses[i] = (uint64_t)number << LINE_BITS | stack->frames[i].line;
	}
	*ret_n = n;
	if (stack->truncated || stack->n_frames >= JAVA_STACK_DEPTH) {
		int r = add_function(s, "[truncated]", "", &number);

		s->addresses[(*ret_n)++] = (uint64_t)number << LINE_BITS;
		return r;
	}
	return 0;
}

/* ---- stacks ---- */

static int kind_of(enum jfr_kind kind)
{
	switch (kind) {
	case JFR_CPU:
		return JAVA_PROFILE_CPU;
	case JFR_ALLOC:
		return JAVA_PROFILE_ALLOC;
	case JFR_LOCK:
		return JAVA_PROFILE_LOCK;
	case JFR_WALL:
		return JAVA_PROFILE_WALL;
	default: /* not asked for, or waiting that is no contention */
		return -1;
	}
}

static int require_profile(struct java_stacks *s, enum java_profile kind)
{
	struct stack_profile_config cfg = {
		.resolver = {.resolve = resolve, .ctx = s},
		.n_types = kinds[kind].n,
		.period_type = kinds[kind].period_type,
		.period_unit = kinds[kind].period_unit,
		.max_bytes = PROFILE_BYTES,
		.out = &s->pprofs[kind].pprof,
		.more = &s->pprofs[kind].more,
	};

	if (s->profiles[kind])
		return 0;
	memcpy(cfg.types, kinds[kind].types, sizeof(cfg.types));
	memcpy(cfg.units, kinds[kind].units, sizeof(cfg.units));
	return stack_profile_new(&s->profiles[kind], &cfg);
}

static void add_totals(struct java_totals *t, enum java_profile kind, const struct jfr_stack *stack)
{
	if (kind == JAVA_PROFILE_ALLOC) {
		t->alloc_objects += (uint64_t)stack->count;
		t->alloc_bytes += (uint64_t)stack->amount;
	} else if (kind == JAVA_PROFILE_LOCK) {
		t->lock_contentions += (uint64_t)stack->count;
		t->lock_ns += (uint64_t)stack->amount;
	}
}

static int add_stack(struct java_stacks *s, enum java_profile kind, const struct jfr_stack *stack)
{
	struct stack_profile_stack addresses = {.addresses = s->addresses};
	struct stack_values values = {{0}};
	int r = require_profile(s, kind);

	if (r == 0 && s->batch != stack->batch)
		r = begin_batch(s, stack->batch);
	if (r == 0)
		r = number_frames(s, stack, &addresses.n);
	if (r < 0)
		return r;
	values.v[0] = kinds[kind].n == 1 ? stack->amount : stack->count;
	values.v[1] = kinds[kind].n == 1 ? 0 : stack->amount;
	return stack_profile_add(s->profiles[kind], &addresses, &values);
}

int java_stacks_add(void *ctx, const struct jfr_stack *stack)
{
	struct java_stacks *s = ctx;
	int kind = kind_of(stack->kind), r;

	if (kind < 0)
		return 0;
	add_totals(&s->totals, (enum java_profile)kind, stack);
	r = add_stack(s, (enum java_profile)kind, stack);
	if (r == -ENOMEM || r == 0)
		return r;
	s->n_lost += (uint64_t)stack->count;
	return 0;
}

uint64_t java_stacks_n_lost(const struct java_stacks *s)
{
	return s->n_lost;
}

const struct java_totals *java_stacks_totals(const struct java_stacks *s)
{
	return &s->totals;
}

/* ---- finish ---- */

static uint64_t period_of(enum java_profile kind, const struct jfr_settings *s)
{
	switch (kind) {
	case JAVA_PROFILE_ALLOC:
		return s->alloc_interval_bytes;
	case JAVA_PROFILE_LOCK:
		return s->lock_interval_ns;
	case JAVA_PROFILE_WALL:
		return s->wall_interval_ns;
	default:
		return s->cpu_interval_ns;
	}
}

int java_stacks_finish(struct java_stacks *s, enum java_profile kind, const struct java_window *w,
		       struct java_pprof *ret)
{
	const struct stack_profile_times times = {
		.end_ns = w->end_ns,
		.duration_ns = w->end_ns - w->start_ns,
		.period = (int64_t)period_of(kind, &w->settings),
	};
	size_t n_samples = 0;
	int r;

	if (!s->profiles[kind])
		return 0;
	r = stack_profile_finish(s->profiles[kind], &times, &n_samples);
	if (r < 0)
		return r;
	*ret = s->pprofs[kind];
	s->pprofs[kind] = (struct java_pprof){0};
	buf_init(&s->pprofs[kind].pprof, LIMIT_UPLOAD_BYTES);
	return 0;
}
