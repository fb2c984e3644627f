#include "node-agent/profile/cpu_profile.h"

#include <errno.h>
#include <inttypes.h>

#include "common/limits.h"
#include "common/pprof/pprof_encode.h"
#include "common/system/clock.h"
#include "common/telemetry/log.h"
#include "node-agent/profile/profile_builder.h"
#include "node-agent/profile/stack_landmark.h"
#include "node-agent/sample/cycle.h"
#include "node-agent/symbol/symbolizer.h"

#define PROFILE_ARENA_BYTES (64 * MIB)
#define MAX_FRAMES_PER_STACK 2048
#define MARKERS 3 /* frames of our own: twice [truncated], and the root */
#define COMMENT_BYTES 96

/* One call of cpu_profile_build(). */
struct build {
	struct cycle *cycle;
	struct symbolizer *symbolizer;
	const struct cpu_profile_config *cfg;
	struct cpu_profile_result *result;
	const struct symbol_frame *truncated;
	struct arena arena; /* of the workload in work */
	struct profile_builder *builder;
	uint64_t n_samples; /* of the workload in work */

	const struct symbol_frame *frames[MAX_FRAMES_PER_STACK];
	size_t n_frames;
};

static void push_frames(struct build *b, const struct symbol_frame_list *list)
{
	for (size_t i = 0; i < list->n && b->n_frames < MAX_FRAMES_PER_STACK - MARKERS; i++)
		b->frames[b->n_frames++] = &list->frames[i];
}

/* False when the kernel's outermost frames are missing; then a marker has their place. */
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
		b->frames[b->n_frames++] = b->truncated;
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
 * Stops where the rest of the stack is made up: at an address that cannot be code, or at a frame
 * on another stack that nothing there switched to. True when all of it is known to be code.
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
			all_code = false; /* of a process that is gone nobody can tell */
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
 * Whether the walk over the user stack saw everything. That a frame pointer was 0 proves it only
 * after a step: code built without frame pointers leaves any value there, 0 as well. The name at
 * the bottom proves it, or the name above it where the start-up code itself has no symbol.
 */
static bool is_whole(const struct build *b, const struct cycle_stack *stack, bool all_code,
		     size_t first_user)
{
	size_t n = b->n_frames;

	if (stack->n_user == 0)
		return stack->end == WALK_END_NO_USER_STACK;
	for (size_t i = n; i > first_user && i + 2 > n; i--) {
		if (stack_is_root(b->frames[i - 1]->function))
			return true;
	}
	return all_code && stack->end == WALK_END_BOTTOM && stack->n_user > 1;
}

static void add_stack(struct build *b, const struct process_snapshot *p,
		      const struct symbol_frame *root, const struct cycle_stack *stack)
{
	int64_t period = (int64_t)(NS_PER_S / b->cfg->hz);
	size_t first_user;
	bool kernel_whole, user_whole, all_code;

	b->n_frames = 0;
	kernel_whole = push_kernel_frames(b, stack);
	first_user = b->n_frames;
	all_code = push_user_frames(b, p, stack);
	user_whole = is_whole(b, stack, all_code, first_user);
	if (!user_whole)
		b->frames[b->n_frames++] = b->truncated;
	b->frames[b->n_frames++] = root;

	if (profile_builder_add(b->builder, b->frames, b->n_frames,
				(int64_t)stack->n_samples * period) < 0) {
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

static struct profile_string view(const char *s)
{
	return (struct profile_string){s, strlen(s)};
}

/* The node's losses of the interval travel with each of its profiles. */
static int add_comments(struct build *b, struct profile *p)
{
	p->comments = arena_calloc(&b->arena, CYCLE_LOST_MAX, sizeof(*p->comments));
	if (!p->comments)
		return -ENOMEM;
	for (enum cycle_lost why = 0; why < CYCLE_LOST_MAX; why++) {
		uint64_t n = cycle_lost(b->cycle, why);
		char *text;

		if (n == 0)
			continue;
		text = arena_calloc(&b->arena, 1, COMMENT_BYTES);
		if (!text)
			return -ENOMEM;
		snprintf(text, COMMENT_BYTES, "lost:%s=%" PRIu64, cycle_lost_name(why), n);
		p->comments[p->n_comments++] = view(text);
	}
	return 0;
}

static int encode(struct build *b, struct buf *out)
{
	struct profile_value_type type = {view("ebpf:cpu:nanoseconds"), view("nanoseconds")};
	struct profile p;
	int r;

	r = profile_builder_finish(b->builder, &p);
	if (r == 0)
		r = add_comments(b, &p);
	if (r < 0)
		return r;
	p.types = &type;
	p.n_types = 1;
	p.period_type = (struct profile_value_type){view("cpu"), view("nanoseconds")};
	p.period = (int64_t)(NS_PER_S / b->cfg->hz);
	p.time_ns = b->cfg->end_ns;
	p.duration_ns = b->cfg->duration_ns;
	return pprof_encode(&p, out);
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

	buf_init(&pprof, LIMIT_UPLOAD_BYTES);
	b->n_samples = 0;
	r = profile_builder_new(&b->builder, &b->arena);
	if (r < 0)
		return r;
	for (; first < end; first++)
		add_process(b, *first);
	r = b->n_samples > 0 ? encode(b, &pprof) : 0;
	profile_builder_free(b->builder);
	arena_clear(&b->arena);
	if (r < 0 || b->n_samples == 0)
		return r;

	b->result->n_samples += b->n_samples;
	emit(ctx, &out);
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
	b->cycle = c;
	b->symbolizer = s;
	b->cfg = cfg;
	b->result = ret;
	b->truncated = symbolizer_frame(s, "[truncated]", "");
	arena_init(&b->arena, PROFILE_ARENA_BYTES);

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
	arena_fini(&b->arena);
	free(b);
}
