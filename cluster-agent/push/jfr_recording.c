#include "cluster-agent/push/jfr_recording.h"

#include <errno.h>

#include "cluster-agent/push/profile_builder.h"
#include "common/jfr/jfr_stacks.h"
#include "common/limits.h"

#define TRUNCATED "[truncated]"

/* A text and its length. */
#define TEXT(s)                    \
	{                          \
		(s), sizeof(s) - 1 \
	}
#define NANOSECONDS TEXT("nanoseconds")
#define BYTES TEXT("bytes")
#define COUNT TEXT("count")

static const struct {
	struct profile_value_type types[2]; /* of amount, and of count if there is one */
	uint32_t n_types;
	struct profile_value_type period_type;
} groups[JFR_GROUPS] = {
	[JFR_GROUP_CPU] = {{{TEXT("java:cpu:nanoseconds"), NANOSECONDS}},
			   1,
			   {TEXT("cpu"), NANOSECONDS}},
	[JFR_GROUP_WALL] = {{{TEXT("java:wall:nanoseconds"), NANOSECONDS}},
			    1,
			    {TEXT("wall"), NANOSECONDS}},
	[JFR_GROUP_ALLOC] = {{{TEXT("java:heap_alloc_space:bytes"), BYTES},
			      {TEXT("java:heap_alloc_objects:count"), COUNT}},
			     2,
			     {TEXT("space"), BYTES}},
	[JFR_GROUP_LIVE] = {{{TEXT("java:heap_inuse_space:bytes"), BYTES},
			     {TEXT("java:heap_inuse_objects:count"), COUNT}},
			    2,
			    {TEXT("space"), BYTES}},
	[JFR_GROUP_LOCK] = {{{TEXT("java:lock_delay:nanoseconds"), NANOSECONDS},
			     {TEXT("java:lock_contentions:count"), COUNT}},
			    2,
			    {TEXT("delay"), NANOSECONDS}},
	/* calls of malloc() that async-profiler samples, whether or not they are freed */
	[JFR_GROUP_MALLOC] = {{{TEXT("java:malloc_space:bytes"), BYTES},
			       {TEXT("java:malloc_objects:count"), COUNT}},
			      2,
			      {TEXT("space"), BYTES}},
};

struct reading {
	struct profile_builder builders[JFR_GROUPS];
	bool has[JFR_GROUPS];
	struct arena *arena;
	struct err *err;
};

struct bytes {
	const uint8_t *data;
	size_t len;
};

static ssize_t read_bytes(void *ctx, void *to, size_t len, uint64_t offset)
{
	const struct bytes *b = ctx;
	size_t n;

	if (offset >= b->len)
		return 0;
	n = b->len - offset < len ? b->len - (size_t)offset : len;
	memcpy(to, b->data + offset, n);
	return (ssize_t)n;
}

/* Negative for events that no profile is made of: waiting that is no contention, and others. */
static int group_of(enum jfr_kind kind)
{
	switch (kind) {
	case JFR_CPU:
		return JFR_GROUP_CPU;
	case JFR_WALL:
		return JFR_GROUP_WALL;
	case JFR_ALLOC:
		return JFR_GROUP_ALLOC;
	case JFR_LIVE:
		return JFR_GROUP_LIVE;
	case JFR_LOCK:
		return JFR_GROUP_LOCK;
	case JFR_MALLOC:
		return JFR_GROUP_MALLOC;
	default:
		return -1;
	}
}

static struct profile_string string_of(const char *text)
{
	return (struct profile_string){text, strlen(text)};
}

static int add_frames(struct profile_builder *b, const struct jfr_stack *stack, uint32_t *locations,
		      uint32_t *ret_n)
{
	static const struct frame_source root = {TEXT(TRUNCATED), TEXT(""), 0};
	const size_t max = LIMIT_PPROF_STACK_DEPTH - 1;
	size_t n = stack->n_frames < max ? stack->n_frames : max;
	int r = 0;

	for (size_t i = 0; i < n && r == 0; i++) {
		const struct jfr_frame *f = &stack->frames[i];
		const struct frame_source frame = {string_of(f->function), string_of(f->file),
						   f->line};

		r = profile_builder_add_frame(b, &frame, &locations[i]);
	}
	*ret_n = (uint32_t)n;
	if (r == 0 && (stack->truncated || n < stack->n_frames))
		r = profile_builder_add_frame(b, &root, &locations[(*ret_n)++]);
	return r;
}

static int add_stack(void *ctx, const struct jfr_stack *stack)
{
	UNINITIALIZED uint32_t locations[LIMIT_PPROF_STACK_DEPTH];
	const int64_t values[] = {stack->amount, stack->count};
	struct reading *reading = ctx;
	int group = group_of(stack->kind), r = 0;
	struct profile_builder *b;
	uint32_t n;

	if (group < 0)
		return 0;
	b = &reading->builders[group];
	if (!reading->has[group])
		r = profile_builder_init(b, reading->arena, groups[group].n_types, reading->err);
	if (r < 0)
		return r;
	reading->has[group] = true;
	r = add_frames(b, stack, locations, &n);
	return r < 0 ? r : profile_builder_add_sample(b, locations, n, values);
}

static int64_t period_of(int group, const struct jfr_settings *s)
{
	uint64_t period = group == JFR_GROUP_CPU     ? s->cpu_interval_ns
			  : group == JFR_GROUP_WALL  ? s->wall_interval_ns
			  : group == JFR_GROUP_ALLOC ? s->alloc_interval_bytes
			  : group == JFR_GROUP_LOCK  ? s->lock_interval_ns
						     : 0;

	return period <= INT64_MAX ? (int64_t)period : 0;
}

static int finish(struct jfr_profiles *ret, const struct reading *reading,
		  const struct jfr_result *result, const struct jfr_settings *settings)
{
	ret->n = 0;
	for (int g = 0; g < JFR_GROUPS; g++) {
		struct profile *p = &ret->items[ret->n];
		size_t size = groups[g].n_types * sizeof(*p->types);

		if (!reading->has[g])
			continue;
		*p = reading->builders[g].profile;
		p->types = arena_alloc(reading->arena, size);
		if (!p->types)
			return arena_error(reading->arena, size);
		memcpy(p->types, groups[g].types, size);
		p->period_type = groups[g].period_type;
		p->period = period_of(g, settings);
		/* times out of range are refused by the later check of all times */
		p->time_ns = (int64_t)result->end_ns;
		p->duration_ns = (int64_t)(result->end_ns - result->start_ns);
		ret->n++;
	}
	return 0;
}

static void name_type(struct jfr_profiles *ret, const char *name, uint64_t n_events)
{
	size_t len = strlen(ret->note);

	if (n_events == 0)
		return;
	ret->losses.n[PROFILE_LOSS_OTHER_EVENTS] += n_events;
	snprintf(ret->note + len, sizeof(ret->note) - len, "%s%s (%llu)", len > 0 ? ", " : "", name,
		 (unsigned long long)n_events);
}

/* Events that have a stack. Those without one, such as of the CPU's load, are no profile. */
static void name_left_out(struct jfr_profiles *ret, const struct jfr_result *result)
{
	uint64_t n = result->n_other_events;

	ret->losses.n[PROFILE_LOSS_BROKEN_SAMPLES] = result->lost[JFR_LOSS_BAD_EVENT];
	name_type(ret, "jdk.NativeMethodSample", result->n_used[JFR_NATIVE]);
	name_type(ret, "jdk.ThreadPark", result->n_used[JFR_PARK]);
	name_type(ret, "jdk.JavaMonitorWait", result->n_used[JFR_WAIT]);
	for (uint32_t i = 0; i < result->n_other_types; i++) {
		name_type(ret, result->other_types[i].name, result->other_types[i].n_events);
		n -= result->other_types[i].n_events;
	}
	name_type(ret, "others", n);
}

int jfr_recording_read(struct jfr_profiles *ret, struct arena *arena, const void *data, size_t len,
		       int64_t period_ns, struct err *err)
{
	struct bytes bytes = {data, len};
	const struct jfr_source source = {.read = read_bytes, .ctx = &bytes, .size_bytes = len};
	struct reading reading = {.arena = arena, .err = err};
	struct jfr_settings settings = {.cpu_interval_ns = (uint64_t)period_ns,
					.wall_interval_ns = (uint64_t)period_ns};
	const struct jfr_stacks_config cfg = {
		.stack = add_stack, .ctx = &reading, .settings = &settings};
	struct jfr_result result = {0};
	struct err why = {""};
	int r = jfr_stacks_read(&source, &cfg, &result, &why);

	if (r == -EBADMSG || r == -ENODATA)
		return err_set(err, -EBADMSG, "not a valid JFR recording: %s",
			       why.msg[0] ? why.msg : "it is not complete");
	if (r < 0)
		return r;
	*ret = (struct jfr_profiles){.n = 0};
	name_left_out(ret, &result);
	return finish(ret, &reading, &result, &settings);
}
