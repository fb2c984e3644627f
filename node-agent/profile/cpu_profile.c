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
 * Locations come from the symbolizer, which gives equal ones as equal pointers until a profile
 * is finished. A location and, if addresses are wanted, where the code is in its file make a code
 * place (code_places.h), whose number is what stack_profile.h gets as an address: addresses of
 * processes mean different things in different processes of one workload.
 *
 * What cannot be put into a profile is counted, and the rest continues.
 */
#include "node-agent/profile/cpu_profile.h"

#include <errno.h>
#include <inttypes.h>

#include "common/limits.h"
#include "common/system/clock.h"
#include "common/telemetry/log.h"
#include "node-agent/profile/code_places.h"
#include "node-agent/profile/stack_landmark.h"
#include "node-agent/profile/stack_profile.h"
#include "node-agent/profile/thread_state.h"
#include "node-agent/sample/cycle.h"
#include "node-agent/symbol/symbolizer.h"

#define PROFILE_MAX_BYTES (64 * MIB)
#define MARKERS 5 /* frames of our own: four times [truncated], and the root */

/*
 * The node's losses of the interval travel with each of its profiles. What is known of the
 * workload is behind them.
 */
struct comments {
	const char *texts[CYCLE_LOST_MAX + CPU_PROFILE_COMMENTS_MAX + UNWIND_REPORT_TEXTS];
	size_t n;
	size_t n_lost;
	char lost[CYCLE_LOST_MAX][CPU_PROFILE_COMMENT_BYTES];
	struct cpu_profile_comments workload;
	char unwind[UNWIND_REPORT_TEXTS][UNWIND_REPORT_TEXT_BYTES];
};

/* What is known in a profile about a mapping of the process being added. */
struct place {
	bool known;
	uint32_t binary;     /* in the unwind report */
	uint32_t mapping;    /* of the pprof, as in struct code_place; 0: none */
	uint64_t to_address; /* to be added to an address of the process for one of the pprof */
};

/* One call of cpu_profile_build(). */
struct build {
	struct symbolizer *symbolizer;
	const struct cpu_profile_config *cfg;
	struct cpu_profile_result *result;
	struct comments comments;

	/* of the workload being built */
	const struct symbol_location *truncated;
	struct stack_profile *profile;
	struct stack_profile_parts parts;
	struct unwind_report *report;
	struct code_places *code;
	uint64_t n_samples;
	unsigned n_profiles;
	struct chained_locations frames;

	/* of the process being added */
	struct jit_files *jit_files; /* borrowed, or NULL */
	struct place *places;        /* one for each of its mappings */
	size_t max_places;

	/* of the stack being completed */
	struct cycle_stack_words words;
	size_t n_chained;  /* frames of an interpreter that are done */
	size_t chained_at; /* how many locations there were behind the last one */
	bool at_root;      /* the rest of the stack is another thread's */
	struct thread_state state;
	/*
	 * Behind the last run: 1 + where the innermost frame of the interpreter's file is among
	 * locations; 0: there is none.
	 */
	size_t interpreter_at;
	uint64_t locations[STACK_PROFILE_DEPTH_MAX]; /* numbers of code places */
	size_t n_locations;
	int error;            /* a place could not be added */
	uint32_t last_binary; /* that of the outermost user frame */
	bool interrupted;     /* the next user frame was not in a call, but had a signal */
};

static const struct symbol_location *location_at(const struct build *b, uint64_t number)
{
	return code_places_get(b->code, (uint32_t)number)->location;
}

static int resolve(void *ctx, uint64_t number, bool all, struct frame_list *ret)
{
	const struct build *b = ctx;
	const struct code_place *place = code_places_get(b->code, (uint32_t)number);
	const struct symbol_location *l = place->location;

	_Static_assert(SYMBOL_LOCATION_FRAMES_MAX <= FRAMES_PER_ADDRESS_MAX, "all have a place");
	(void)all;
	for (size_t i = 0; i < l->n; i++)
		ret->frames[i] = (struct frame){
			.function = l->frames[i].function,
			.file = l->frames[i].file,
			.line = l->frames[i].line,
			.start_line = l->frames[i].start_line,
			.inlined = i + 1 < l->n,
		};
	ret->n = l->n;
	ret->code_address = place->address;
	ret->mapping = (uint32_t)place->mapping;
	return 0;
}

static void push_place(struct build *b, const struct code_place *place)
{
	uint32_t number = 0;
	int r = code_places_add(b->code, place, &number);

	if (r < 0)
		b->error = r;
	else
		b->locations[b->n_locations++] = number;
}

static void push(struct build *b, const struct symbol_location *location)
{
	push_place(b, &(struct code_place){.location = location});
}

/* place NULL: no file is known. address is of the process. */
static void push_code(struct build *b, const struct symbol_location *location,
		      const struct place *place, uint64_t address)
{
	struct code_place p = {.location = location};

	if (place && place->mapping > 0) {
		p.mapping = place->mapping;
		p.address = address + place->to_address;
	}
	if (b->n_locations < STACK_PROFILE_DEPTH_MAX - MARKERS)
		push_place(b, &p);
}

/* Returns false if the kernel's outermost frames are missing; then a mark is in their place. */
static bool push_kernel_frames(struct build *b, const struct cycle_stack *stack)
{
	bool cut = stack->flags & (SAMPLE_KERNEL_STACK_CUT | SAMPLE_KERNEL_STACK_ERROR);

	for (size_t i = 0; i < stack->n_kernel; i++)
		push_code(b,
			  symbolizer_resolve_kernel(b->symbolizer, b->words.addrs[i],
						    i == 0 ? SYMBOL_ADDRESS_EXACT
							   : SYMBOL_ADDRESS_RETURN),
			  NULL, 0);
	if (cut)
		push(b, b->truncated);
	return !cut;
}

/*
 * m NULL: generated code. A program that generates some maps it piece by piece, more quickly than
 * its mappings are read.
 */
static struct symbol_mapping symbol_mapping_of(const struct build *b,
					       const struct process_snapshot *p,
					       const struct process_mapping *m)
{
	struct symbol_mapping sm = {
		.path = "",
		.fd = -1,
		.pid = p->pid,
		.start_time = p->start_time,
		.jit_files = b->jit_files,
	};

	if (!m)
		return sm;
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
	return sm;
}

/* ---- frames of an interpreter ---- */

static const struct chained_frame *chained_frame(struct build *b, const struct process_snapshot *p,
						 const struct interpreter_frame *f)
{
	return chained_locations_find(&b->frames, b->n_profiles, p, f);
}

/* Whether the program runs a function that its objects call when they are given up. */
static bool has_finalizer(struct build *b, const struct process_snapshot *p,
			  const struct cycle_stack *stack)
{
	static const char name[] = "__del__";

	for (size_t i = 0; i < stack->n_chain; i++) {
		const struct symbol_location *l =
			chained_frame(b, p, &b->words.frames[i])->location;
		const char *function = l ? l->frames[0].function : "";
		size_t len = strlen(function);

		if (len >= strlen(name) && strcmp(function + len - strlen(name), name) == 0)
			return true;
	}
	return false;
}

/* In front of a run: what the interpreter does that the run did not ask for. */
static void push_activity(struct build *b, const struct process_snapshot *p,
			  const struct cycle_stack *stack)
{
	static const char *const texts[] = {
		[THREAD_COLLECTS] = "(garbage collection)",
		[THREAD_WAITS] = "(waiting for the GIL)",
	};
	enum thread_activity activity = thread_state_take(&b->state);

	if (activity == THREAD_COLLECTS_IF_NO_FINALIZER)
		activity = has_finalizer(b, p, stack) ? THREAD_RUNS : THREAD_COLLECTS;
	if (activity != THREAD_RUNS)
		push_code(b, symbolizer_frame(b->symbolizer, texts[activity], "[interpreter]"),
			  NULL, 0);
}

/*
 * Adds the functions of a frame: compiled code is that of several, if some were inlined. Returns
 * false if the native frame is to be shown.
 */
static bool push_functions(struct build *b, const struct process_snapshot *p,
			   const struct interpreter_frame *frame)
{
	struct interpreter_frame f = *frame;
	uint32_t n_callers = 0;

	do {
		const struct chained_frame *r = chained_frame(b, p, &f);

		if (r->is_native && f.level == 0)
			return false;
		if (r->location)
			push_code(b, r->location, NULL, 0);
		if (f.level == 0)
			n_callers = r->n_callers;
		b->at_root |= r->is_root;
	} while (f.level++ < n_callers);
	return true;
}

/* Adds the frames up to those of the native frame with this index. Returns whether it has any. */
static bool push_chained(struct build *b, const struct process_snapshot *p,
			 const struct cycle_stack *stack, uint32_t index)
{
	bool any = false;

	if (b->n_chained < stack->n_chain && b->words.indexes[b->n_chained] <= index) {
		push_activity(b, p, stack);
		b->interpreter_at = 0;
	}
	for (; b->n_chained < stack->n_chain && b->words.indexes[b->n_chained] <= index;
	     b->n_chained++) {
		bool is_shown = push_functions(b, p, &b->words.frames[b->n_chained]);

		any |= is_shown && b->words.indexes[b->n_chained] == index;
		b->chained_at = b->n_locations;
		if (b->n_chained + 1 == stack->n_chain && stack->flags & SAMPLE_CHAIN_CUT)
			push(b, b->truncated);
	}
	return any;
}

/*
 * What is left of the interpreter's frames, when the walk has come to the bottom and not by every
 * call of the loop. They belong to some frame of its file: to the innermost one, as natives that
 * they have called are above it.
 */
static void push_rest(struct build *b, const struct process_snapshot *p,
		      const struct cycle_stack *stack, bool whole)
{
	size_t at = b->interpreter_at - 1, n = b->n_locations, n_rest;
	uint64_t rest[CHAIN_ENTRIES + MARKERS];

	if (b->interpreter_at == 0 || !whole)
		at = n;
	(void)push_chained(b, p, stack, CHAIN_REST);
	n_rest = b->n_locations - n;
	if (n_rest == 0 || n_rest > ARRAY_SIZE(rest) || at == n)
		return;
	memcpy(rest, &b->locations[n], n_rest * sizeof(rest[0]));
	memmove(&b->locations[at + n_rest], &b->locations[at], (n - at) * sizeof(rest[0]));
	memcpy(&b->locations[at], rest, n_rest * sizeof(rest[0]));
}

/* The index among all frames that were walked of user address i of the record. */
static uint32_t walked_index(const struct cycle_stack *stack, size_t i)
{
	if (stack->root_at == 0 || i < stack->root_at)
		return (uint32_t)i;
	return (uint32_t)(stack->n_walked - (stack->n_user - i));
}

static bool is_switch_index(const struct cycle_stack *stack, size_t i)
{
	for (size_t k = 0; i > 0 && k < SAMPLER_STACK_SWITCHES; k++) {
		if (stack->stack_switch[k] == i)
			return true;
	}
	return false;
}

static void learn_place(struct build *b, const struct process_snapshot *p,
			const struct process_mapping *m, struct place *ret)
{
	const struct symbol_mapping sm = symbol_mapping_of(b, p, m);
	struct symbol_file file;
	uint64_t base;

	*ret = (struct place){.known = true};
	if (sm.path[0])
		ret->binary = unwind_report_binary(b->report, sm.path);
	if (!b->cfg->addresses || symbolizer_find_file(b->symbolizer, &sm, &file) < 0 ||
	    code_places_map(b->code, &file, strcmp(p->exe, sm.path) == 0, &ret->mapping, &base) < 0)
		return;
	ret->to_address = file.to_address + base;
}

/* What is known about a mapping in which an address was resolved. */
static const struct place *find_place(struct build *b, const struct process_snapshot *p,
				      const struct process_mapping *m)
{
	struct place *place = &b->places[m - p->mappings];

	if (!place->known)
		learn_place(b, p, m, place);
	return place;
}

/*
 * Whether the frame is code that only runs the interpreter for the function whose frame is there
 * already, as CPython makes for perf (-X perf). Its map calls it like the function. So does a
 * jitdump (-X perf_jit), but CPython writes that by 2 MiB, so mostly when the program has ended.
 */
static bool is_trampoline(struct build *b, const struct symbol_location *l,
			  const struct process_mapping *m)
{
	size_t n = b->n_locations;

	if ((m && m->file) || n == 0 || b->chained_at != n)
		return false;
	b->chained_at = 0;
	return (m && strcmp(symbol_location_outermost(l)->function, "[unknown]") == 0) ||
	       symbol_location_is_of_function(l, location_at(b, b->locations[n - 1]));
}

static void push_native(struct build *b, const struct symbol_location *l,
			const struct process_mapping *m, const struct place *place,
			uint64_t address)
{
	bool is_interpreter = m && m->file && atomic_load(&m->file->has_interpreter);

	thread_state_see(&b->state, symbol_location_outermost(l)->function, is_interpreter);
	if (is_interpreter && b->interpreter_at == 0)
		b->interpreter_at = 1 + b->n_locations;
	push_code(b, l, place, address);
}

static const struct symbol_location *resolve_user(struct build *b, const struct process_snapshot *p,
						  const struct process_mapping *m, uint64_t address,
						  enum symbol_address_kind kind)
{
	const struct symbol_mapping sm = symbol_mapping_of(b, p, m);

	return symbolizer_resolve_user(b->symbolizer, m || b->jit_files ? &sm : NULL, address,
				       kind);
}

/* True if the process reported generated code there, outside the mappings that we know. */
static bool is_generated(struct build *b, const struct process_snapshot *p, uint64_t address)
{
	const struct symbol_location *l;

	if (!b->jit_files)
		return false;
	l = resolve_user(b, p, NULL, address, SYMBOL_ADDRESS_RETURN);
	return symbol_location_outermost(l)->file[0] != '\0';
}

/*
 * Adds user frame i, in mapping m (NULL: in none). Returns false, and adds nothing, if the function
 * does not change stacks where the walk did.
 */
static bool push_user_frame(struct build *b, const struct process_snapshot *p,
			    const struct cycle_stack *stack, size_t i,
			    const struct process_mapping *m)
{
	enum symbol_address_kind kind =
		i == 0 || b->interrupted ? SYMBOL_ADDRESS_EXACT : SYMBOL_ADDRESS_RETURN;
	const uint64_t address = b->words.addrs[stack->n_kernel + i];
	const uint32_t index = walked_index(stack, i);
	const struct symbol_location *l = resolve_user(b, p, m, address, kind);
	const struct place *place = m ? find_place(b, p, m) : NULL;

	b->interrupted = stack_is_signal_return(symbol_location_outermost(l)->function);
	if (b->interrupted)
		kind = SYMBOL_ADDRESS_EXACT;
	if (is_switch_index(stack, i) && !stack_is_switch(symbol_location_outermost(l)->function))
		return false;
	if (i > 0) /* of native frames that are left out */
		(void)push_chained(b, p, stack, index - 1);
	if (i > 0 && i == stack->root_at)
		push(b, b->truncated);
	b->last_binary = place ? place->binary : 0;
	unwind_report_see(b->report, b->last_binary);
	/* unless it is the loop of an interpreter */
	if (!push_chained(b, p, stack, index) && !is_trampoline(b, l, m))
		push_native(b, l, m, place, symbol_code_address(address, kind));
	return true;
}

/* Whether an interpreter has frames there. Code that it has made may be newer than the snapshot. */
static bool is_chained(const struct build *b, const struct cycle_stack *stack, uint32_t index)
{
	size_t i = b->n_chained;

	while (i < stack->n_chain && b->words.indexes[i] < index)
		i++;
	return i < stack->n_chain && b->words.indexes[i] == index;
}

/*
 * Stops where the rest of the stack is made up: at an address that cannot be code, or at a change
 * to another stack that the function there does not make. Returns UNWIND_COMPLETE if all addresses
 * are known to be code.
 */
static enum unwind_outcome push_user_frames(struct build *b, const struct process_snapshot *p,
					    const struct cycle_stack *stack)
{
	const uint64_t *addrs = b->words.addrs + stack->n_kernel;
	enum unwind_outcome outcome = UNWIND_COMPLETE;

	b->last_binary = 0;
	b->interrupted = false;
	for (size_t i = 0; i < stack->n_user; i++) {
		const struct process_mapping *m = process_snapshot_find(p, addrs[i]);

		if (!m && i > 0 && !cycle_stack_is_exact(stack) && !is_generated(b, p, addrs[i]) &&
		    !is_chained(b, stack, walked_index(stack, i))) {
			if (p->n_mappings > 0)
				return UNWIND_IMPLAUSIBLE;
			/* mappings of an exited process are unknown */
			outcome = UNWIND_NO_MAPPING;
		}
		if (!push_user_frame(b, p, stack, i, m))
			return UNWIND_IMPLAUSIBLE;
		if (b->at_root) {
			b->n_chained = stack->n_chain;
			return outcome;
		}
	}
	return outcome == UNWIND_COMPLETE && stack->root_at > 0 ? UNWIND_DEPTH_LIMIT : outcome;
}

/*
 * Whether the walk over the user stack came to its bottom; a guess on the way may have left out
 * callers, which outcome_of_whole() reports. A frame pointer of 0 proves that only
 * after a step: code built without frame pointers leaves any value in the register, 0 as well. A
 * table proves it, as that of a stripped program for its first instructions, which relocate it. The
 * name at the bottom proves it, or the one above if the start-up code at the bottom has no symbol.
 */
static bool is_whole(const struct build *b, const struct cycle_stack *stack, bool all_code,
		     size_t first_user)
{
	size_t n = b->n_locations;

	if (stack->n_user == 0)
		return stack->end == WALK_END_NO_USER_STACK;
	if (b->at_root)
		return true;
	for (size_t i = n; i > first_user && i + 2 > n; i--) {
		const struct symbol_location *l = location_at(b, b->locations[i - 1]);

		if (stack_is_root(symbol_location_outermost(l)->function))
			return true;
	}
	return all_code && stack->end == WALK_END_BOTTOM &&
	       (stack->n_user > 1 || stack->flags & SAMPLE_BY_TABLES);
}

/*
 * Whether a step may have left out callers. Before the mappings of a process are reported, and
 * with --unwinding=frame-pointers, all steps go by frame pointers, which code may not keep.
 */
static bool is_guess(const struct cycle_stack *stack)
{
	return stack->flags & SAMPLE_GUESSED ||
	       (stack->n_user > 1 && !(stack->flags & SAMPLE_BY_TABLES));
}

/* The walk has reached the bottom. */
static enum unwind_outcome outcome_of_whole(const struct cycle_stack *stack, bool kernel_whole)
{
	if (stack->root_at > 0 || stack->flags & SAMPLE_CHAIN_CUT)
		return UNWIND_DEPTH_LIMIT;
	if (!kernel_whole)
		return UNWIND_KERNEL;
	return is_guess(stack) ? UNWIND_GUESSED : UNWIND_COMPLETE;
}

static struct stack_values values_of(const struct build *b, const struct cycle_stack *stack)
{
	int64_t n = (int64_t)stack->n_samples, cpu_ns = n * (int64_t)(NS_PER_S / b->cfg->hz);

	return b->cfg->whole ? (struct stack_values){{n, cpu_ns}} : (struct stack_values){{cpu_ns}};
}

static void add_stack(struct build *b, const struct process_snapshot *p,
		      const struct symbol_location *root, const struct cycle_stack *stack)
{
	const struct stack_values values = values_of(b, stack);
	struct stack_profile_stack s = {.addresses = b->locations,
					.inlined = STACK_PROFILE_PHYSICAL};
	size_t first_user;
	enum unwind_outcome outcome;
	bool kernel_whole, whole, rest;

	cycle_stack_unpack(stack, &b->words);
	symbolizer_set_weight(b->symbolizer, stack->n_samples);
	b->n_locations = 0;
	b->n_chained = b->chained_at = 0;
	b->at_root = false;
	b->interpreter_at = 0;
	thread_state_begin(&b->state, stack->chain_state);
	b->error = 0;
	kernel_whole = push_kernel_frames(b, stack);
	first_user = b->n_locations;
	outcome = push_user_frames(b, p, stack);
	whole = is_whole(b, stack, outcome == UNWIND_COMPLETE, first_user);
	rest = b->n_chained < stack->n_chain;
	push_rest(b, p, stack, whole);
	if (whole) {
		outcome = outcome_of_whole(stack, kernel_whole);
		if (rest && outcome == UNWIND_COMPLETE)
			outcome = UNWIND_GUESSED;
	} else {
		if (outcome == UNWIND_COMPLETE)
			outcome = unwind_outcome_of_end(stack->end);
		push(b, b->truncated);
	}
	push(b, root);

	s.n = b->n_locations;
	if (b->error < 0 || stack_profile_add(b->profile, &s, &values) < 0) {
		b->result->n_lost += stack->n_samples;
		return;
	}
	unwind_report_add(b->report, outcome, b->last_binary, stack->n_samples);
	b->n_samples += stack->n_samples;
	b->result->n_by_outcome[outcome] += stack->n_samples;
	if (outcome != UNWIND_COMPLETE && outcome != UNWIND_GUESSED)
		b->result->n_truncated += stack->n_samples;
}

static int make_places(struct build *b, size_t n)
{
	if (n > b->max_places) {
		free(b->places);
		b->max_places = 0;
		b->places = malloc(n * sizeof(*b->places));
		if (!b->places)
			return -ENOMEM;
		b->max_places = n;
	}
	if (n > 0)
		memset(b->places, 0, n * sizeof(*b->places));
	return 0;
}

static void add_process(struct build *b, const struct cycle_process *p)
{
	const char *comm = p->snapshot->comm;
	const struct symbol_location *root =
		symbolizer_frame(b->symbolizer, comm[0] ? comm : "[unknown]", "");

	if (make_places(b, p->snapshot->n_mappings) < 0) {
		b->result->n_lost += p->n_samples;
		return;
	}
	b->jit_files = p->jit_files;
	for (const struct cycle_stack *s = p->stacks; s; s = s->next)
		add_stack(b, p->snapshot, root, s);
}

static void fill_losses(struct comments *c, const struct cycle *cycle)
{
	for (enum cycle_lost why = 0; why < CYCLE_LOST_MAX; why++) {
		uint64_t n = cycle_lost(cycle, why);

		if (n == 0)
			continue;
		snprintf(c->lost[c->n_lost], CPU_PROFILE_COMMENT_BYTES, "lost:%s=%" PRIu64,
			 cycle_lost_name(why), n);
		c->texts[c->n_lost] = c->lost[c->n_lost];
		c->n_lost++;
	}
}

static void fill_comments(struct build *b, const struct workload *w)
{
	struct comments *c = &b->comments;

	c->workload.n = 0;
	if (b->cfg->comments)
		b->cfg->comments(b->cfg->comments_ctx, w, &c->workload);
	for (size_t i = 0; i < c->workload.n; i++)
		c->texts[c->n_lost + i] = c->workload.texts[i];
	c->n = c->n_lost + c->workload.n;
}

/* How the walks ended is known in the end. */
static void add_unwind_comments(struct build *b)
{
	struct comments *c = &b->comments;
	size_t n = unwind_report_write(b->report, c->unwind);

	for (size_t i = 0; i < n; i++)
		c->texts[c->n + i] = c->unwind[i];
	stack_profile_set_comments(b->profile, c->texts, c->n + n);
}

static int begin_profile(struct build *b, struct buf *out)
{
	struct stack_profile_config cfg = {
		.resolver = {.resolve = resolve, .ctx = b, .has_places = b->cfg->addresses},
		.types = {"ebpf:cpu:nanoseconds"},
		.units = {"nanoseconds"},
		.n_types = 1,
		.period_type = "cpu",
		.period_unit = "nanoseconds",
		.level = PPROF_LEVEL_SMALL,
		.max_bytes = PROFILE_MAX_BYTES,
		.out = out,
		.more = &b->parts,
	};

	if (b->cfg->whole) {
		cfg.types[0] = "samples";
		cfg.units[0] = "count";
		cfg.types[1] = "cpu";
		cfg.units[1] = "nanoseconds";
		cfg.n_types = 2;
		cfg.more = NULL;
	}
	b->n_samples = 0;
	b->n_profiles++;
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
	const struct profile_mapping *mappings;
	size_t n;
	int r;

	add_unwind_comments(b);
	code_places_seal(b->code);
	mappings = code_places_mappings(b->code, &n);
	stack_profile_set_mappings(b->profile, mappings, n);
	r = stack_profile_finish(b->profile, &times, &n);
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
	fill_comments(b, out.workload);
	unwind_report_free(TAKE_PTR(b->report));
	code_places_free(TAKE_PTR(b->code));
	r = unwind_report_new(&b->report);
	if (r == 0)
		r = code_places_new(&b->code, PROFILE_MAX_BYTES);
	if (r == 0)
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
	b->frames.symbolizer = s;
	b->frames.find_name = cfg->find_name;
	b->frames.name_ctx = cfg->name_ctx;
	fill_losses(&b->comments, c);

	for (struct cycle_process *const *first = processes, *const *end; first < all_end;
	     first = end) {
		uint64_t lost_before = ret->n_lost;
		int r;

		for (end = first; end < all_end && (cfg->whole || is_same_workload(*end, *first));)
			end++;
		r = build_workload(b, first, end, emit, ctx);
		if (r < 0) {
			ret->n_lost = lost_before + count_samples(first, end);
			log_warn_limited("lost a profile", "service=%s error=\"%s\"",
					 (*first)->snapshot->workload->service, strerror(-r));
		}
	}
	stack_profile_parts_fini(&b->parts);
	unwind_report_free(b->report);
	code_places_free(b->code);
	free(b->places);
	free(b);
}
