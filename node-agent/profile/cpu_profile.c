/*
 * A cycle has stacks of addresses by process; an upload is one profile per workload. In
 * between, every stack is completed: kernel frames, user frames, a mark where something is
 * missing, and the name of the process as the root.
 *
 * Where a stack ends is decided here and not where it was walked, because names decide it. The
 * walk follows frame pointers through code that may not keep any, and then reads words that
 * mean nothing. Two things reveal them: an address in no mapping, and a change of stacks in a
 * function that never changes stacks. A known start function at the bottom shows the opposite,
 * a complete stack (stack_landmark.h).
 *
 * Frames come from the symbolizer, which gives equal frames as equal pointers until a profile
 * is finished. These pointers are what stack_profile.h gets as addresses: those of the code
 * mean different things in different processes of one workload.
 *
 * What cannot be put into a profile is counted, and the rest continues.
 */
#include "node-agent/profile/cpu_profile.h"

#include <errno.h>
#include <inttypes.h>

#include "common/limits.h"
#include "common/system/clock.h"
#include "common/telemetry/log.h"
#include "node-agent/profile/stack_landmark.h"
#include "node-agent/profile/stack_profile.h"
#include "node-agent/sample/cycle.h"
#include "node-agent/symbol/symbolizer.h"

#define PROFILE_MAX_BYTES (64 * MIB)
#define MARKERS 3 /* frames of our own: twice [truncated], and the root */
#define COMMENT_BYTES 96

/* The node's losses of the interval: they travel with each of its profiles. */
struct comments {
	const char *texts[CYCLE_LOST_MAX];
	size_t n;
	char bytes[CYCLE_LOST_MAX][COMMENT_BYTES];
};

/* One call of cpu_profile_build(). */
struct build {
	struct symbolizer *symbolizer;
	const struct cpu_profile_config *cfg;
	struct cpu_profile_result *result;
	struct comments comments;

	/* of the workload being built */
	const struct symbol_frame *truncated;
	struct stack_profile *profile;
	struct stack_profile_parts parts;
	uint64_t n_samples;

	/* of the stack being completed */
	uint64_t frames[STACK_PROFILE_DEPTH_MAX]; /* pointers to struct symbol_frame */
	size_t n_frames;
};

static const struct symbol_frame *frame_at(uint64_t pointer)
{
	const struct symbol_frame *frame;

	_Static_assert(sizeof(frame) == sizeof(pointer), "a pointer is an address");
	memcpy(&frame, &pointer, sizeof(frame));
	return frame;
}

static int resolve(void *ctx, uint64_t pointer, bool all, struct frame_list *ret)
{
	const struct symbol_frame *frame = frame_at(pointer);

	(void)ctx;
	(void)all;
	ret->frames[0] = (struct frame){.function = frame->function, .file = frame->file};
	ret->n = 1;
	return 0;
}

static void push(struct build *b, const struct symbol_frame *frame)
{
	b->frames[b->n_frames++] = (uintptr_t)frame;
}

static void push_frames(struct build *b, const struct symbol_frame_list *list)
{
	for (size_t i = 0; i < list->n && b->n_frames < STACK_PROFILE_DEPTH_MAX - MARKERS; i++)
		push(b, &list->frames[i]);
}

/* Returns false if the kernel's outermost frames are missing; then a mark is in their place. */
static bool push_kernel_frames(struct build *b, const struct cycle_stack *stack)
{
	bool cut = stack->flags & (SAMPLE_KERNEL_STACK_CUT | SAMPLE_KERNEL_STACK_ERROR);
	struct symbol_frame_list list;

	for (size_t i = 0; i < stack->n_kernel; i++) {
		symbolizer_resolve_kernel(b->symbolizer, stack->addrs[i],
					  i == 0 ? SYMBOL_ADDRESS_EXACT : SYMBOL_ADDRESS_RETURN,
					  &list);
		push_frames(b, &list);
	}
	if (cut)
		push(b, b->truncated);
	return !cut;
}

static void resolve_user(struct build *b, const struct process_mapping *m, uint64_t addr,
			 enum symbol_address_kind kind, struct symbol_frame_list *ret)
{
	struct symbol_mapping sm = {.path = "", .fd = -1};

	if (!m) {
		symbolizer_resolve_user(b->symbolizer, NULL, addr, kind, ret);
		return;
	}
	sm.start = m->start;
	sm.file_offset = m->file_offset;
	if (m->kind == PROCESS_MAPPING_VDSO)
		sm.path = "[vdso]";
	if (m->file) {
		sm.path = m->file->path;
		sm.fd = m->file->fd;
		sm.may_hang = m->file->may_hang;
		sm.id = m->file->id;
	}
	symbolizer_resolve_user(b->symbolizer, &sm, addr, kind, ret);
}

static bool is_switch_index(const struct cycle_stack *stack, size_t i)
{
	for (size_t k = 0; i > 0 && k < SAMPLER_STACK_SWITCHES; k++) {
		if (stack->stack_switch[k] == i)
			return true;
	}
	return false;
}

/*
 * Stops where the rest of the stack is made up: at an address that cannot be code, or at a change
 * to another stack that the function there does not make. Returns whether all addresses are known
 * to be code.
 */
static bool push_user_frames(struct build *b, const struct process_snapshot *p,
			     const struct cycle_stack *stack)
{
	const uint64_t *addrs = stack->addrs + stack->n_kernel;
	struct symbol_frame_list list;
	bool all_code = true;

	for (size_t i = 0; i < stack->n_user; i++) {
		const struct process_mapping *m = process_snapshot_find(p, addrs[i]);

		if (!m && i > 0) {
			if (p->n_mappings > 0)
				return false;
			all_code = false; /* mappings of an exited process are unknown */
		}
		resolve_user(b, m, addrs[i], i == 0 ? SYMBOL_ADDRESS_EXACT : SYMBOL_ADDRESS_RETURN,
			     &list);
		if (is_switch_index(stack, i) && !stack_is_switch(list.frames[0].function))
			return false;
		push_frames(b, &list);
	}
	return all_code;
}

/*
 * Whether the walk over the user stack saw everything. A frame pointer of 0 proves that only
 * after a step: code built without frame pointers leaves any value in the register, 0 as well.
 * The name at the bottom proves it, or the one above if the start-up code at the bottom has no
 * symbol.
 */
static bool is_whole(const struct build *b, const struct cycle_stack *stack, bool all_code,
		     size_t first_user)
{
	size_t n = b->n_frames;

	if (stack->n_user == 0)
		return stack->end == WALK_END_NO_USER_STACK;
	for (size_t i = n; i > first_user && i + 2 > n; i--) {
		if (stack_is_root(frame_at(b->frames[i - 1])->function))
			return true;
	}
	return all_code && stack->end == WALK_END_BOTTOM && stack->n_user > 1;
}

static void add_stack(struct build *b, const struct process_snapshot *p,
		      const struct symbol_frame *root, const struct cycle_stack *stack)
{
	int64_t period = (int64_t)(NS_PER_S / b->cfg->hz);
	const struct stack_values values = {{(int64_t)stack->n_samples * period}};
	struct stack_profile_stack s = {.addresses = b->frames};
	size_t first_user;
	bool kernel_whole, user_whole, all_code;

	b->n_frames = 0;
	kernel_whole = push_kernel_frames(b, stack);
	first_user = b->n_frames;
	all_code = push_user_frames(b, p, stack);
	user_whole = is_whole(b, stack, all_code, first_user);
	if (!user_whole)
		push(b, b->truncated);
	push(b, root);

	s.n = b->n_frames;
	if (stack_profile_add(b->profile, &s, &values) < 0) {
		b->result->n_lost += stack->n_samples;
		return;
	}
	b->n_samples += stack->n_samples;
	if (!kernel_whole || !user_whole)
		b->result->n_truncated += stack->n_samples;
}

static void add_process(struct build *b, const struct cycle_process *p)
{
	const char *comm = p->snapshot->comm;
	const struct symbol_frame *root =
		symbolizer_frame(b->symbolizer, comm[0] ? comm : "[unknown]", "");

	for (const struct cycle_stack *s = p->stacks; s; s = s->next)
		add_stack(b, p->snapshot, root, s);
}

static void fill_comments(struct comments *c, const struct cycle *cycle)
{
	for (enum cycle_lost why = 0; why < CYCLE_LOST_MAX; why++) {
		uint64_t n = cycle_lost(cycle, why);

		if (n == 0)
			continue;
		snprintf(c->bytes[c->n], COMMENT_BYTES, "lost:%s=%" PRIu64, cycle_lost_name(why),
			 n);
		c->texts[c->n] = c->bytes[c->n];
		c->n++;
	}
}

static int begin_profile(struct build *b, struct buf *out)
{
	const struct stack_profile_config cfg = {
		.resolver = {.resolve = resolve},
		.types = {"ebpf:cpu:nanoseconds"},
		.units = {"nanoseconds"},
		.n_types = 1,
		.period_type = "cpu",
		.period_unit = "nanoseconds",
		.comments = b->comments.texts,
		.n_comments = b->comments.n,
		.level = PPROF_LEVEL_SMALL,
		.max_bytes = PROFILE_MAX_BYTES,
		.out = out,
		.more = &b->parts,
	};

	b->n_samples = 0;
	b->truncated = symbolizer_frame(b->symbolizer, "[truncated]", "");
	return stack_profile_new(&b->profile, &cfg);
}

static int finish_profile(struct build *b)
{
	const struct stack_profile_times times = {
		.end_ns = b->cfg->end_ns,
		.duration_ns = b->cfg->duration_ns,
		.period = (int64_t)(NS_PER_S / b->cfg->hz),
	};
	size_t n;
	int r = stack_profile_finish(b->profile, &times, &n);

	stack_profile_free(b->profile);
	b->profile = NULL;
	symbolizer_end_profile(b->symbolizer);
	return r;
}

/* All processes of one workload: [first, end). */
static int build_workload(struct build *b, struct cycle_process *const *first,
			  struct cycle_process *const *end, cpu_profile_fn emit, void *ctx)
{
	CLEANUP(buf_fini) struct buf pprof;
	struct workload_profile out = {
		.workload = first[0]->snapshot->workload,
		.pprof = &pprof,
	};
	int r;

	stack_profile_parts_fini(&b->parts);
	buf_init(&pprof, LIMIT_UPLOAD_BYTES);
	r = begin_profile(b, &pprof);
	if (r < 0)
		return r;
	for (; first < end; first++) {
		add_process(b, *first);
		out.cost_ns += (*first)->cost_ns;
	}
	r = finish_profile(b);
	if (r < 0 || b->n_samples == 0)
		return r;

	b->result->n_samples += b->n_samples;
	out.n_samples = b->n_samples;
	emit(ctx, &out);
	/* samples and cost are those of all parts */
	out.n_samples = out.cost_ns = 0;
	for (size_t i = 0; i < b->parts.n; i++) {
		out.pprof = &b->parts.bufs[i];
		emit(ctx, &out);
	}
	return 0;
}

static bool is_same_workload(const struct cycle_process *a, const struct cycle_process *b)
{
	return workload_compare(a->snapshot->workload, b->snapshot->workload) == 0;
}

static uint64_t count_samples(struct cycle_process *const *first, struct cycle_process *const *end)
{
	uint64_t n = 0;

	for (; first < end; first++)
		n += (*first)->n_samples;
	return n;
}

void cpu_profile_build(struct cycle *c, struct symbolizer *s, const struct cpu_profile_config *cfg,
		       cpu_profile_fn emit, void *ctx, struct cpu_profile_result *ret)
{
	struct cycle_process *const *processes, *const *all_end;
	struct build *b;
	size_t n;

	*ret = (struct cpu_profile_result){0};
	processes = cycle_processes(c, &n);
	all_end = processes + n;
	b = calloc(1, sizeof(*b));
	if (!b) {
		ret->n_lost = cycle_n_samples(c);
		return;
	}
	b->symbolizer = s;
	b->cfg = cfg;
	b->result = ret;
	fill_comments(&b->comments, c);

	for (struct cycle_process *const *first = processes, *const *end; first < all_end;
	     first = end) {
		uint64_t lost_before = ret->n_lost;
		int r;

		for (end = first; end < all_end && is_same_workload(*end, *first);)
			end++;
		r = build_workload(b, first, end, emit, ctx);
		if (r < 0) {
			ret->n_lost = lost_before + count_samples(first, end);
			log_warn_limited("lost a profile", "service=%s error=\"%s\"",
					 (*first)->snapshot->workload->service, strerror(-r));
		}
	}
	stack_profile_parts_fini(&b->parts);
	free(b);
}
