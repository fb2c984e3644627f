/*
 * Stacks are not kept: the pool of stacks is read once to learn which methods are needed, and once
 * more, when these have names, to report each stack as it is read. So memory depends on the number
 * of distinct methods, not on the number and depth of stacks.
 */
#include "common/jfr/jfr_report.h"

#include <errno.h>
#include <math.h>

enum { STACK_TRUNCATED, STACK_FRAMES };
static const struct jfr_wanted stack_fields = {{"truncated", "frames"}, 0, false};
enum { FRAME_METHOD, FRAME_LINE, FRAME_TYPE };
static const struct jfr_wanted frame_fields = {{"method", "lineNumber", "type"}, 1, false};

/* Ids of the frames that stand for no method; those of methods follow. */
enum { ID_UNKNOWN, ID_OTHER, N_IDS };

static const struct jfr_frame unknown_frame = {
	.function = "[unknown]",
	.file = "",
	.function_id = ID_UNKNOWN,
	.type = JFR_FRAME_NOTE,
};
static const struct jfr_frame other_frame = {
	.function = "[other]",
	.file = "",
	.function_id = ID_OTHER,
	.type = JFR_FRAME_NOTE,
};

static void make_plans(struct jfr_report *rep)
{
	const struct jfr_metadata *m = rep->constants->metadata;
	const struct jfr_type *stack = rep->constants->types[JFR_POOL_STACK];

	rep->frames_op = JFR_PLAN_OPS_MAX;
	rep->frame_plan.n = 0;
	if (!jfr_plan_make(&rep->stack_plan, m, stack, &stack_fields))
		return;
	for (size_t i = 0; i < rep->stack_plan.n; i++) {
		if (rep->stack_plan.ops[i].slot == STACK_FRAMES &&
		    rep->stack_plan.ops[i].is_array &&
		    rep->stack_plan.ops[i].form == JFR_FORM_STRUCT)
			rep->frames_op = i;
	}
	if (rep->frames_op == JFR_PLAN_OPS_MAX ||
	    !jfr_plan_make(&rep->frame_plan, m, &m->types[rep->stack_plan.ops[rep->frames_op].type],
			   &frame_fields))
		rep->frame_plan.n = 0;
}

static bool read_frame_type(void *ctx, uint64_t key)
{
	static const struct {
		const char *description;
		enum jfr_frame_type type;
		bool inlined;
	} known[] = {
		{"Native", JFR_FRAME_NATIVE, false},
		{"C++", JFR_FRAME_NATIVE, false},
		{"Kernel", JFR_FRAME_KERNEL, false},
		{"Inlined", JFR_FRAME_JAVA, true},
	};
	static const struct jfr_wanted fields = {{"description"}, 1, false};
	struct jfr_report *rep = ctx;
	UNINITIALIZED uint64_t slots[JFR_PLAN_SLOTS_MAX + 1];
	struct jfr_plan plan;
	struct jfr_text text;

	text.kind = JFR_TEXT_NULL;
	if (rep->n_frame_types == JFR_FRAME_TYPES_MAX ||
	    !jfr_plan_make(&plan, rep->constants->metadata,
			   rep->constants->types[JFR_POOL_FRAME_TYPE], &fields))
		return false;
	jfr_plan_read(&plan, rep->constants->reader, slots, &text);
	for (size_t i = 0; i < ARRAY_SIZE(known) && text.kind == JFR_TEXT_INLINE; i++) {
		if (strcmp(text.text, known[i].description) != 0)
			continue;
		rep->frame_types[rep->n_frame_types].id = key;
		rep->frame_types[rep->n_frame_types].type = known[i].type;
		rep->frame_types[rep->n_frame_types].inlined = known[i].inlined;
		rep->n_frame_types++;
	}
	return true;
}

static bool read_thread_state(void *ctx, uint64_t key)
{
	static const struct jfr_wanted fields = {{"name"}, 1, false};
	struct jfr_report *rep = ctx;
	UNINITIALIZED uint64_t slots[JFR_PLAN_SLOTS_MAX + 1];
	struct jfr_plan plan;
	struct jfr_text text;

	text.kind = JFR_TEXT_NULL;
	if (!jfr_plan_make(&plan, rep->constants->metadata,
			   rep->constants->types[JFR_POOL_THREAD_STATE], &fields))
		return false;
	jfr_plan_read(&plan, rep->constants->reader, slots, &text);
	if (text.kind == JFR_TEXT_INLINE && strcmp(text.text, "STATE_DEFAULT") == 0)
		rep->default_state = key;
	return true;
}

static void set_type(const struct jfr_report *rep, uint64_t id, struct jfr_frame *f)
{
	f->type = JFR_FRAME_JAVA;
	f->inlined = false;
	for (size_t i = 0; i < rep->n_frame_types; i++) {
		if (rep->frame_types[i].id != id)
			continue;
		/* the JDK calls a native method of a Java class native */
		if (rep->events->is_async_profiler)
			f->type = rep->frame_types[i].type;
		f->inlined = rep->frame_types[i].inlined;
	}
}

/*
 * Reads a stack and calls frame() for each of its first frames. Returns false if the reader failed.
 */
static inline __attribute__((always_inline)) bool
read_stack(struct jfr_report *rep,
	   void (*frame)(struct jfr_report *rep, size_t i, const uint64_t *slots),
	   size_t *ret_frames, bool *ret_truncated)
{
	struct jfr_reader *r = rep->constants->reader;
	UNINITIALIZED uint64_t slots[JFR_PLAN_SLOTS_MAX + 1];

	*ret_frames = 0;
	*ret_truncated = false;
	for (size_t i = 0; i < rep->stack_plan.n && r->error == 0; i++) {
		uint32_t n;

		if (i != rep->frames_op && rep->stack_plan.ops[i].slot == STACK_TRUNCATED &&
		    rep->stack_plan.ops[i].form == JFR_FORM_BYTE) {
			*ret_truncated |= jfr_reader_raw(r, 1) != 0;
			continue;
		}
		if (i != rep->frames_op) {
			jfr_plan_skip(&rep->stack_plan, r, i);
			continue;
		}
		n = jfr_reader_count(r);
		for (uint32_t k = 0; k < n && r->error == 0; k++) {
			jfr_plan_read(&rep->frame_plan, r, slots, NULL);
			if (r->error == 0 && k < JFR_STACK_DEPTH_MAX)
				frame(rep, k, slots);
		}
		*ret_frames = n < JFR_STACK_DEPTH_MAX ? n : JFR_STACK_DEPTH_MAX;
		*ret_truncated |= n > JFR_STACK_DEPTH_MAX;
	}
	return r->error == 0;
}

static void want_frame(struct jfr_report *rep, size_t i, const uint64_t *slots)
{
	struct jfr_method *m = jfr_names_want_method(&rep->names, slots[FRAME_METHOD]);
	struct jfr_frame f;

	(void)i;
	if (!m)
		return;
	set_type(rep, slots[FRAME_TYPE], &f);
	m->is_kernel = f.type == JFR_FRAME_KERNEL;
	m->is_native = f.type != JFR_FRAME_JAVA;
}

static bool want_stack(void *ctx, uint64_t key)
{
	struct jfr_report *rep = ctx;
	struct jfr_stack_groups *s = jfr_groups_find(rep->groups, key);
	size_t n;
	bool truncated;

	if (!s || s->is_read || key == 0)
		return false;
	s->is_read = read_stack(rep, want_frame, &n, &truncated);
	return true;
}

static void make_frame(struct jfr_report *rep, size_t i, const uint64_t *slots)
{
	const struct jfr_method *m = jfr_names_method(&rep->names, slots[FRAME_METHOD]);
	struct jfr_frame *f = &rep->frames[i];

	if (m && m->function) {
		f->function = m->function;
		f->file = m->file;
		f->line = slots[FRAME_LINE] <= INT32_MAX ? (uint32_t)slots[FRAME_LINE] : 0;
		f->function_id = (uint32_t)(m - rep->names.methods) + N_IDS;
		set_type(rep, slots[FRAME_TYPE], f);
		if (m->is_note)
			f->type = JFR_FRAME_NOTE;
		return;
	}
	*f = rep->names.is_full ? other_frame : unknown_frame;
	if (rep->names.is_full)
		rep->result->lost[JFR_LOSS_NAMES_FULL]++;
}

static bool is_lock(const char *class_name)
{
	static const char *const prefixes[] = {
		"java.util.concurrent.locks.Reentrant",
		"java.util.concurrent.locks.StampedLock",
		"java.util.concurrent.Semaphore",
	};

	for (size_t i = 0; class_name && i < ARRAY_SIZE(prefixes); i++) {
		if (strncmp(class_name, prefixes[i], strlen(prefixes[i])) == 0)
			return true;
	}
	return false;
}

static int64_t rounded(double value)
{
	return value < 9e18 ? llround(value) : INT64_MAX;
}

/* Fills in what the sum of samples stands for. */
static void set_values(struct jfr_report *rep, const struct jfr_sample *s, uint32_t n_events,
		       struct jfr_stack *ret)
{
	const struct jfr_settings *settings = &rep->events->settings;
	double amount = s->amount;
	uint64_t interval_ns = 0;

	switch (ret->kind) {
	case JFR_CPU:
		interval_ns = settings->cpu_interval_ns;
		break;
	case JFR_WALL:
	case JFR_NATIVE:
		interval_ns = settings->wall_interval_ns;
		break;
	default:
		interval_ns = 1;
		break;
	}
	/* CPU time samples have their own */
	if (ret->kind <= JFR_NATIVE && amount == 0) {
		amount = s->count * (double)interval_ns;
		if (interval_ns == 0)
			rep->result->lost[JFR_LOSS_NO_INTERVAL] += n_events;
	}
	ret->count = rounded(s->count);
	ret->amount = rounded(amount);
	rep->result->n_used[ret->kind] += n_events;
}

static int report(struct jfr_report *rep, const struct jfr_sample *s, uint32_t n_events,
		  struct jfr_stack *stack)
{
	stack->kind = s->kind;
	stack->class_name = NULL;
	stack->batch = rep->batch;
	if (s->kind == JFR_CPU && rep->events->state_tells_wall &&
	    s->class_id != rep->default_state)
		stack->kind = JFR_WALL;
	if (s->kind >= JFR_ALLOC && s->class_id != 0) {
		const struct jfr_class *c = jfr_names_class(&rep->names, s->class_id);

		stack->class_name = c && c->name && c->name[0] != '\0' ? c->name : NULL;
	}
	if (s->kind == JFR_PARK && is_lock(stack->class_name))
		stack->kind = JFR_LOCK;
	set_values(rep, s, n_events, stack);
	return rep->cfg->stack(rep->cfg->ctx, stack);
}

/* Reports the groups of a stack whose frames are in stack. */
static int report_stack(struct jfr_report *rep, struct jfr_stack_groups *s, struct jfr_stack *stack)
{
	int r = 0;

	s->is_reported = true;
	for (uint32_t i = s->first; i != JFR_GROUPS_MAX && r >= 0;) {
		const struct jfr_group *g = &rep->groups->groups[i];
		const struct jfr_sample sum = {
			.kind = (enum jfr_kind)g->kind,
			.stack = g->stack,
			.class_id = g->class_id,
			.count = g->count,
			.amount = g->amount,
		};

		r = report(rep, &sum, g->n_events, stack);
		i = g->next;
	}
	return r;
}

static bool report_read_stack(void *ctx, uint64_t key)
{
	struct jfr_report *rep = ctx;
	struct jfr_stack_groups *s = jfr_groups_find(rep->groups, key);
	struct jfr_stack stack = {.frames = rep->frames};
	int r;

	if (!s || s->is_reported || !s->is_read || rep->error != 0)
		return false;
	if (!read_stack(rep, make_frame, &stack.n_frames, &stack.truncated))
		return true;
	if (stack.n_frames == 0) {
		rep->frames[0] = unknown_frame;
		stack.n_frames = 1;
	}
	r = report_stack(rep, s, &stack);
	rep->error = r < 0 ? r : 0;
	return true;
}

/* Those that are not in a constant pool. */
static int report_missing(struct jfr_report *rep)
{
	struct jfr_stack stack = {.frames = &unknown_frame, .n_frames = 1};
	int r = 0;

	for (uint32_t i = 0; i < rep->groups->n_stacks && r >= 0; i++) {
		struct jfr_stack_groups *s = &rep->groups->stacks[i];

		if (s->is_reported)
			continue;
		for (uint32_t k = s->first; k != JFR_GROUPS_MAX; k = rep->groups->groups[k].next)
			rep->result->lost[rep->groups->groups[k].stack == 0
						  ? JFR_LOSS_NO_STACK
						  : JFR_LOSS_UNKNOWN_STACK] +=
				rep->groups->groups[k].n_events;
		r = report_stack(rep, s, &stack);
	}
	return r < 0 ? r : 0;
}

/* Stores the first error; broken constants do not keep others from being read. */
static void each(struct jfr_report *rep, enum jfr_pool pool, bool (*read)(void *ctx, uint64_t key),
		 int *error)
{
	int r = jfr_constants_each(rep->constants, pool, read, rep);

	if (*error == 0)
		*error = r;
	if (r == -EBADMSG)
		rep->constants->reader->error = 0;
}

static void want_classes(struct jfr_report *rep)
{
	for (uint32_t i = 0; i < rep->groups->n_groups; i++) {
		const struct jfr_group *g = &rep->groups->groups[i];

		if (g->kind >= JFR_ALLOC && g->class_id != 0)
			(void)jfr_names_want_class(&rep->names, g->class_id);
	}
}

int jfr_report_groups(struct jfr_report *rep, struct jfr_groups *groups, struct arena *a,
		      uint64_t n_bytes)
{
	int r, error = 0;

	if (groups->n_groups == 0)
		return 0;
	rep->groups = groups;
	rep->n_frame_types = 0;
	rep->default_state = UINT64_MAX;
	r = jfr_groups_order(groups, a);
	if (r == 0)
		r = jfr_names_init(&rep->names, rep->constants, a, n_bytes);
	if (r < 0)
		return r;
	make_plans(rep);
	each(rep, JFR_POOL_FRAME_TYPE, read_frame_type, &error);
	each(rep, JFR_POOL_THREAD_STATE, read_thread_state, &error);
	want_classes(rep);
	if (rep->frame_plan.n != 0)
		each(rep, JFR_POOL_STACK, want_stack, &error);
	r = jfr_names_read(&rep->names);
	if (r == -ENOMEM)
		return r;
	if (r == -EBADMSG)
		rep->constants->reader->error = 0;
	error = error != 0 ? error : r;
	if (rep->frame_plan.n != 0)
		each(rep, JFR_POOL_STACK, report_read_stack, &error);
	if (rep->error != 0)
		return rep->error;
	r = report_missing(rep);
	return r < 0 ? r : error;
}

int jfr_report_other(struct jfr_report *rep, const struct jfr_sample *s, uint32_t n_events)
{
	struct jfr_stack stack = {.frames = &other_frame, .n_frames = 1};

	rep->result->lost[JFR_LOSS_STACKS_FULL] += n_events;
	return report(rep, s, n_events, &stack);
}
