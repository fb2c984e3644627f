/* Stacks of the test's own process through the real symbolizer, read back as pprof. */
#include <errno.h>

#include "common/data/gzip.h"
#include "common/limits.h"
#include "common/pprof/pprof_decode.h"
#include "node-agent/profile/cpu_profile.h"
#include "node-agent/sample/cycle.h"
#include "node-agent/symbol/symbolizer.h"
#include "proto/profile.pb-c.h"
#include "test/lib/handler_return.h"
#include "test/lib/own_process.h"
#include "test/lib/unit.h"

#ifdef __aarch64__
#define SIGNAL_RETURN "__kernel_rt_sigreturn" /* of the vDSO */
#else
#define SIGNAL_RETURN SYMBOL_SIGNAL_RETURN
#endif

struct fixture {
	struct process_table *table;
	struct process_snapshot *self;
	struct symbolizer *symbolizer;
	struct cycle *cycle;
	struct arena arena; /* of the decoded profile */
	struct profile profile;
	struct cpu_profile_result result;
	unsigned n_profiles;
	uint16_t stack_switch; /* of the next sample */
	uint16_t root_at;      /* likewise */
	uint8_t flags;         /* of the next sample */
	bool addresses;
	struct chain_entry chain[8]; /* of the next sample */
	uint16_t n_chain;
	unsigned n_asked; /* for names */
	uint16_t n_walked;
	uint32_t chain_state;
	Perftools__Profiles__Profile *raw; /* with the parts that we do not decode */
	uint64_t generated;                /* set_up_generated() */
};

__attribute__((noinline)) void gc_collect_main(void); /* CPython's names */
__attribute__((noinline)) void take_gil(void);
__attribute__((noinline)) void known_leaf(void);
__attribute__((noinline)) void known_caller(void);
int main(void);

/* several instructions, so that a byte after the entry is inside */
void known_leaf(void)
{
	__asm__ volatile("nop; nop; nop; nop");
}

void gc_collect_main(void)
{
	__asm__ volatile("nop; nop; nop; nop; nop");
}

void take_gil(void)
{
	__asm__ volatile("nop; nop; nop; nop; nop; nop");
}

void known_caller(void)
{
	known_leaf();
	__asm__ volatile("");
}

static int set_up(void **state)
{
	struct fixture *f = calloc(1, sizeof(*f));
	const struct cycle_config cycle = {1000, MIB};
	struct err err = {""};

	assert_non_null(f);
	assert_int_equal(process_table_new(&f->table, &(struct process_table_config){0}, &err), 0);
	assert_int_equal(symbolizer_new(&f->symbolizer, &(struct symbolizer_config){0}), 0);
	assert_int_equal(cycle_new(&f->cycle, &cycle), 0);
	f->self = own_process_snapshot(f->table);
	arena_init(&f->arena, 16 * MIB);
	*state = f;
	return 0;
}

static int tear_down(void **state)
{
	struct fixture *f = *state;

	if (f->raw)
		perftools__profiles__profile__free_unpacked(f->raw, NULL);
	arena_fini(&f->arena);
	cycle_free(f->cycle);
	process_snapshot_unref(f->self);
	symbolizer_free(f->symbolizer);
	process_table_free(f->table);
	free(f);
	return 0;
}

static void add(struct fixture *f, enum walk_end end, const uint64_t *addrs, uint16_t n)
{
	struct {
		struct sample_event e;
		uint64_t words[32];
	} sample = {0};

	sample.e.n_chain = f->n_chain;
	sample.e.chain_state = f->chain_state;
	sample.e.n_walked = f->n_walked ? f->n_walked : n;
	sample.e.n_user = n;
	sample.e.end = (uint8_t)end;
	sample.e.stack_switch[0] = f->stack_switch;
	sample.e.root_at = f->root_at;
	sample.e.flags = f->flags;
	memcpy(sample.words, f->chain, f->n_chain * sizeof(*f->chain));
	memcpy(sample.words + 2 * f->n_chain, addrs, n * sizeof(*addrs));
	assert_int_equal(cycle_add_sample(f->cycle, f->self, &sample.e), 0);
}

static void keep_raw(struct fixture *f, const struct buf *pprof)
{
	CLEANUP(buf_fini) struct buf raw;

	buf_init(&raw, 16 * MIB);
	assert_int_equal(gzip_inflate(pprof->data, pprof->len, &raw), 0);
	f->raw = perftools__profiles__profile__unpack(NULL, raw.len, (const uint8_t *)raw.data);
	assert_non_null(f->raw);
}

static void keep(void *ctx, const struct workload_profile *p)
{
	struct fixture *f = ctx;
	struct err err = {""};

	f->n_profiles++;
	assert_string_equal(p->workload->service, f->self->workload->service);
	assert_int_equal(pprof_decode(&f->profile, &f->arena, p->pprof->data, p->pprof->len, &err),
			 0);
	keep_raw(f, p->pprof);
}

static void comment(void *ctx, const struct workload *w, struct cpu_profile_comments *ret)
{
	const struct fixture *f = ctx;

	assert_string_equal(w->service, f->self->workload->service);
	ret->n = 1;
	(void)snprintf(ret->texts[0], sizeof(ret->texts[0]), "runtime:java:off=2");
}

/*
 * Frame 3 is the interpreter's own, of frame 4 nothing could be read, and 6 is a finalizer. Frame 7
 * is that of three functions, below 8 the stack is another thread's, and 9 is a native one.
 */
static int find_name(void *ctx, const struct process_snapshot *s, const struct interpreter_frame *f,
		     struct interpreter_name *ret)
{
	struct fixture *fixture = ctx;
	unsigned n = (unsigned)f->code / 8;

	fixture->n_asked++;
	assert_ptr_equal(s, fixture->self);
	assert_int_equal(f->check, 0x2bc000 + n);
	assert_int_equal(f->at, 100 + n);
	if (n == 3 || n == 4)
		return n == 3 ? -ENODATA : -ESRCH;
	if (n == 9)
		return -ENXIO;
	*ret = (struct interpreter_name){.file = "/srv/my app.py", .line = n, .start_line = 1};
	(void)snprintf(ret->function, sizeof(ret->function), n == 6 ? "C.__del__" : "f%u", n);
	if (n == 7)
		(void)snprintf(ret->function, sizeof(ret->function), "f7_%u", f->level);
	ret->n_callers = (uint8_t)(n == 7 ? 2 - f->level : 0);
	ret->is_root = n == 8;
	return 0;
}

/* Frame n of the interpreter, of the native frame with this index. */
static void add_chained(struct fixture *f, unsigned n, uint32_t index)
{
	f->chain[f->n_chain++] = chain_entry(n * 8, 100 + n, index, 0x2bc000 + n);
}

static void build(struct fixture *f)
{
	const struct cpu_profile_config cfg = {
		.hz = 100,
		.addresses = f->addresses,
		.end_ns = 5000000000,
		.duration_ns = 1000000000,
		.comments = comment,
		.comments_ctx = f,
		.find_name = find_name,
		.name_ctx = f,
	};

	cpu_profile_build(f->cycle, f->symbolizer, &cfg, keep, f, &f->result);
	assert_int_equal(f->n_profiles, 1);
	assert_int_equal(f->result.n_lost, 0);
}

/* "leaf;caller;root" of sample i */
static const char *folded(struct fixture *f, uint32_t i)
{
	static char text[1024];
	const struct profile_sample *s = &f->profile.samples[i];
	size_t n = 0;

	for (uint32_t k = 0; k < s->n_locations; k++) {
		const struct profile_location *l = &f->profile.locations[s->locations[k]];
		const char *name = f->profile.functions[l->lines[0].function].name.data;

		n += (size_t)snprintf(text + n, sizeof(text) - n, "%s%s", k ? ";" : "", name);
		assert_true(n < sizeof(text));
	}
	return text;
}

static uint64_t inside(void (*function)(void))
{
	return (uint64_t)(uintptr_t)function + 1;
}

TEST_FIXTURE(a_stack_without_its_middle_keeps_both_ends_and_is_marked, set_up, tear_down)
{
	struct fixture *f = *state;
	const uint64_t addrs[] = {inside(known_leaf), inside(known_caller),
				  (uint64_t)(uintptr_t)main + 1};

	f->root_at = 2;
	add(f, WALK_END_DEPTH_LIMIT, addrs, 3);
	build(f);
	assert_int_equal(f->profile.n_samples, 1);
	assert_string_equal(folded(f, 0),
			    "known_leaf;known_caller;[truncated];main;" OWN_PROCESS_COMM);
	assert_int_equal(f->result.n_truncated, 1);
}

TEST_FIXTURE(frames_of_an_interpreter_are_in_place_of_its_loop, set_up, tear_down)
{
	struct fixture *f = *state;
	const uint64_t addrs[] = {inside(known_leaf), inside(known_caller), inside(known_leaf),
				  (uint64_t)(uintptr_t)main + 1};
	const struct profile_line *line;

	add_chained(f, 9, 0);
	add_chained(f, 1, 1);
	add_chained(f, 2, 1);
	add_chained(f, 3, 1);
	add_chained(f, 4, 2);
	add(f, WALK_END_BOTTOM, addrs, 4);
	build(f);
	assert_string_equal(folded(f, 0), "known_leaf;f1;f2;[unknown];main;" OWN_PROCESS_COMM);
	line = f->profile.locations[f->profile.samples[0].locations[2]].lines;
	assert_int_equal(line->line, 2);
	assert_string_equal(f->profile.functions[line->function].file.data, "/srv/my_app.py");
	assert_int_equal(f->profile.functions[line->function].start_line, 1);
	assert_int_equal(f->result.n_truncated, 0);
	assert_int_equal(f->result.n_by_outcome[UNWIND_GUESSED], 1); /* by frame pointers */
}

TEST_FIXTURE(a_frame_of_an_interpreter_may_be_that_of_several_functions, set_up, tear_down)
{
	struct fixture *f = *state;
	const uint64_t addrs[] = {inside(known_leaf), inside(known_caller),
				  (uint64_t)(uintptr_t)main + 1};

	add_chained(f, 7, 0);
	add_chained(f, 1, 1);
	add(f, WALK_END_BOTTOM, addrs, 3);
	build(f);
	assert_string_equal(folded(f, 0), "f7_0;f7_1;f7_2;f1;main;" OWN_PROCESS_COMM);
	assert_int_equal(f->n_asked, 4);
}

TEST_FIXTURE(code_that_an_interpreter_has_made_lately_is_in_no_mapping, set_up, tear_down)
{
	struct fixture *f = *state;
	const uint64_t addrs[] = {inside(known_leaf), 0x10000, 0x11000,
				  (uint64_t)(uintptr_t)main + 1};

	add_chained(f, 1, 1);
	add_chained(f, 2, 2);
	add(f, WALK_END_BOTTOM, addrs, 4);
	build(f);
	assert_string_equal(folded(f, 0), "known_leaf;f1;f2;main;" OWN_PROCESS_COMM);
	assert_int_equal(f->result.n_truncated, 0);
}

TEST_FIXTURE(a_stack_ends_where_that_of_another_thread_begins, set_up, tear_down)
{
	struct fixture *f = *state;
	const uint64_t addrs[] = {inside(known_leaf), inside(known_caller), inside(known_leaf)};

	add_chained(f, 1, 0);
	add_chained(f, 8, 1);
	add_chained(f, 2, 2);
	add(f, WALK_END_UNREADABLE, addrs, 3);
	build(f);
	assert_string_equal(folded(f, 0), "f1;f8;" OWN_PROCESS_COMM);
	assert_int_equal(f->result.n_truncated, 0);
}

TEST_FIXTURE(a_frame_that_is_in_many_stacks_is_named_once, set_up, tear_down)
{
	struct fixture *f = *state;
	uint64_t addrs[] = {inside(known_leaf), inside(known_caller),
			    (uint64_t)(uintptr_t)main + 1};

	add_chained(f, 1, 1);
	add_chained(f, 3, 1);
	for (unsigned i = 0; i < 3; i++) {
		addrs[0]++;
		add(f, WALK_END_BOTTOM, addrs, 3);
	}
	build(f);
	assert_string_equal(folded(f, 0), "known_leaf;f1;main;" OWN_PROCESS_COMM);
	assert_int_equal(f->n_asked, 2);
}

TEST_FIXTURE(what_is_left_of_a_chain_is_shown_and_the_stack_is_a_guess, set_up, tear_down)
{
	struct fixture *f = *state;
	const uint64_t addrs[] = {inside(known_leaf), (uint64_t)(uintptr_t)main + 1};

	f->flags = SAMPLE_BY_TABLES;
	add_chained(f, 1, CHAIN_REST);
	add_chained(f, 2, CHAIN_REST);
	add(f, WALK_END_BOTTOM, addrs, 2);
	build(f);
	assert_string_equal(folded(f, 0), "known_leaf;main;f1;f2;" OWN_PROCESS_COMM);
	assert_int_equal(f->result.n_by_outcome[UNWIND_GUESSED], 1);
}

/* The file of the test's functions has an interpreter, as far as the profile knows. */
static void be_interpreter(struct fixture *f)
{
	const struct process_mapping *m = process_snapshot_find(f->self, inside(known_leaf));

	assert_non_null(m);
	atomic_store(&m->file->has_interpreter, true);
}

TEST_FIXTURE(what_is_left_of_a_chain_is_at_the_innermost_frame_of_the_interpreter, set_up,
	     tear_down)
{
	struct fixture *f = *state;
	const uint64_t addrs[] = {(uint64_t)(uintptr_t)strlen, inside(known_leaf),
				  inside(known_caller), (uint64_t)(uintptr_t)main + 1};

	be_interpreter(f);
	f->flags = SAMPLE_BY_TABLES;
	add_chained(f, 1, CHAIN_REST);
	add_chained(f, 2, CHAIN_REST);
	add(f, WALK_END_BOTTOM, addrs, 4);
	build(f);
	assert_string_equal(strchr(folded(f, 0), ';'),
			    ";f1;f2;known_leaf;known_caller;main;" OWN_PROCESS_COMM);
	assert_int_equal(f->result.n_by_outcome[UNWIND_GUESSED], 1);
}

TEST_FIXTURE(what_is_left_of_a_chain_is_below_the_calls_that_were_found, set_up, tear_down)
{
	struct fixture *f = *state;
	const uint64_t addrs[] = {inside(known_leaf), inside(known_caller), inside(known_leaf),
				  (uint64_t)(uintptr_t)main + 1};

	be_interpreter(f);
	f->flags = SAMPLE_BY_TABLES;
	add_chained(f, 1, 1);
	add_chained(f, 2, CHAIN_REST);
	add(f, WALK_END_BOTTOM, addrs, 4);
	build(f);
	assert_string_equal(folded(f, 0), "known_leaf;f1;f2;known_leaf;main;" OWN_PROCESS_COMM);
}

/* The call that the rest belongs to may be in the part that was not walked. */
TEST_FIXTURE(what_is_left_of_a_chain_is_at_the_end_of_a_stack_that_is_not_whole, set_up, tear_down)
{
	struct fixture *f = *state;
	const uint64_t addrs[] = {inside(known_leaf), inside(known_caller)};

	be_interpreter(f);
	add_chained(f, 1, CHAIN_REST);
	add(f, WALK_END_NO_TABLE, addrs, 2);
	build(f);
	assert_string_equal(folded(f, 0),
			    "known_leaf;known_caller;f1;[truncated];" OWN_PROCESS_COMM);
}

/* The stack of a thread in this function, which the loop below has called. */
static const char *stack_in(struct fixture *f, void (*function)(void), enum chain_state collects,
			    enum chain_state holds)
{
	const uint64_t addrs[] = {inside(known_leaf), inside(function), inside(known_caller),
				  (uint64_t)(uintptr_t)main + 1};

	f->chain_state = collects << 2 * CHAIN_COLLECTS | holds << 2 * CHAIN_HOLDS_LOCK;
	add_chained(f, 1, 2);
	add(f, WALK_END_BOTTOM, addrs, 4);
	build(f);
	return folded(f, 0);
}

TEST_FIXTURE(a_collection_of_garbage_is_a_frame, set_up, tear_down)
{
	struct fixture *f = *state;

	be_interpreter(f);
	assert_string_equal(
		stack_in(f, gc_collect_main, CHAIN_STATE_SET, CHAIN_STATE_SET),
		"known_leaf;gc_collect_main;(garbage collection);f1;main;" OWN_PROCESS_COMM);
}

TEST_FIXTURE(a_function_of_another_file_collects_nothing, set_up, tear_down)
{
	struct fixture *f = *state;

	assert_string_equal(stack_in(f, gc_collect_main, CHAIN_STATE_SET, CHAIN_STATE_SET),
			    "known_leaf;gc_collect_main;f1;main;" OWN_PROCESS_COMM);
}

TEST_FIXTURE(who_waits_for_the_gil_is_a_frame, set_up, tear_down)
{
	struct fixture *f = *state;

	be_interpreter(f);
	assert_string_equal(stack_in(f, take_gil, CHAIN_STATE_CLEAR, CHAIN_STATE_CLEAR),
			    "known_leaf;take_gil;(waiting for the GIL);f1;main;" OWN_PROCESS_COMM);
}

TEST_FIXTURE(who_has_the_gil_does_not_wait_for_it, set_up, tear_down)
{
	struct fixture *f = *state;

	be_interpreter(f);
	assert_string_equal(stack_in(f, take_gil, CHAIN_STATE_CLEAR, CHAIN_STATE_SET),
			    "known_leaf;take_gil;f1;main;" OWN_PROCESS_COMM);
}

/* Frames 1 and 2 were taken for the loops 0 and 2, as the innermost loop has just begun. */
TEST_FIXTURE(a_call_without_a_frame_does_not_take_those_of_its_callers, set_up, tear_down)
{
	struct fixture *f = *state;
	const uint64_t addrs[] = {inside(known_leaf), inside(take_gil), inside(known_caller),
				  inside(known_leaf), (uint64_t)(uintptr_t)main + 1};

	f->chain_state = (1 + 3) << CHAIN_LEFT_SHIFT;
	add_chained(f, 1, 0);
	add_chained(f, 2, 2);
	add(f, WALK_END_BOTTOM, addrs, 5);
	build(f);
	assert_string_equal(folded(f, 0), "known_leaf;take_gil;f1;f2;main;" OWN_PROCESS_COMM);
}

/* The same, and a call of the loop executes several frames. */
TEST_FIXTURE(a_call_without_a_frame_leaves_runs_to_its_callers, set_up, tear_down)
{
	struct fixture *f = *state;
	const uint64_t addrs[] = {inside(known_leaf), inside(take_gil), inside(known_caller),
				  inside(known_leaf), (uint64_t)(uintptr_t)main + 1};

	f->chain_state = (1 + 3) << CHAIN_LEFT_SHIFT;
	add_chained(f, 1, 0);
	add_chained(f, 2, 0);
	add_chained(f, 5, 2);
	add(f, WALK_END_BOTTOM, addrs, 5);
	build(f);
	assert_string_equal(folded(f, 0), "known_leaf;take_gil;f1;f2;f5;main;" OWN_PROCESS_COMM);
}

TEST_FIXTURE(a_chain_that_is_cut_is_marked, set_up, tear_down)
{
	struct fixture *f = *state;
	const uint64_t addrs[] = {inside(known_leaf), inside(known_caller),
				  (uint64_t)(uintptr_t)main + 1};

	f->flags = SAMPLE_BY_TABLES | SAMPLE_CHAIN_CUT;
	add_chained(f, 1, 1);
	add_chained(f, 2, 1);
	add(f, WALK_END_BOTTOM, addrs, 3);
	build(f);
	assert_string_equal(folded(f, 0), "known_leaf;f1;f2;[truncated];main;" OWN_PROCESS_COMM);
	assert_int_equal(f->result.n_by_outcome[UNWIND_DEPTH_LIMIT], 1);
}

/* Of 700 native frames, those with the indexes 2 to 697 are left out. */
TEST_FIXTURE(frames_of_native_ones_that_are_left_out_are_kept, set_up, tear_down)
{
	struct fixture *f = *state;
	const uint64_t addrs[] = {inside(known_leaf), inside(known_caller), inside(known_leaf),
				  (uint64_t)(uintptr_t)main + 1};

	f->root_at = 2;
	f->n_walked = 700;
	add_chained(f, 1, 1);
	add_chained(f, 2, 300);
	add_chained(f, 5, 698);
	add(f, WALK_END_DEPTH_LIMIT, addrs, 4);
	build(f);
	assert_string_equal(folded(f, 0), "known_leaf;f1;f2;[truncated];f5;main;" OWN_PROCESS_COMM);
}

TEST_FIXTURE(a_stack_that_ends_in_main_is_whole, set_up, tear_down)
{
	struct fixture *f = *state;
	const uint64_t addrs[] = {inside(known_leaf), inside(known_caller),
				  (uint64_t)(uintptr_t)main + 1};

	add(f, WALK_END_UNREADABLE, addrs, 3);
	add(f, WALK_END_UNREADABLE, addrs, 3);
	build(f);
	assert_int_equal(f->profile.n_samples, 1);
	assert_string_equal(folded(f, 0), "known_leaf;known_caller;main;" OWN_PROCESS_COMM);
	assert_int_equal(f->profile.samples[0].values[0], 2 * 10000000);
	assert_string_equal(f->profile.types[0].type.data, "ebpf:cpu:nanoseconds");
	assert_int_equal(f->profile.period, 10000000);
	assert_int_equal(f->profile.time_ns, 5000000000);
	assert_int_equal(f->profile.duration_ns, 1000000000);
	assert_int_equal(f->result.n_samples, 2);
	assert_int_equal(f->result.n_truncated, 0);
}

TEST_FIXTURE(a_stack_that_just_stops_is_marked, set_up, tear_down)
{
	struct fixture *f = *state;
	const uint64_t addrs[] = {inside(known_leaf), inside(known_caller)};

	add(f, WALK_END_UNREADABLE, addrs, 2);
	build(f);
	assert_string_equal(folded(f, 0), "known_leaf;known_caller;[truncated];" OWN_PROCESS_COMM);
	assert_int_equal(f->result.n_truncated, 1);
}

/* A table proves it of a single frame, too. */
TEST_FIXTURE(frame_pointer_zero_proves_the_bottom_after_a_step_only, set_up, tear_down)
{
	struct fixture *f = *state;
	const uint64_t addrs[] = {inside(known_leaf), inside(known_caller)};

	add(f, WALK_END_BOTTOM, addrs, 2);
	add(f, WALK_END_BOTTOM, addrs, 1);
	f->flags = SAMPLE_BY_TABLES;
	add(f, WALK_END_BOTTOM, addrs, 1);
	build(f);
	assert_int_equal(f->profile.n_samples, 3);
	assert_int_equal(f->result.n_truncated, 1);
}

TEST_FIXTURE(an_address_that_cannot_be_code_cuts_the_stack, set_up, tear_down)
{
	struct fixture *f = *state;
	const uint64_t addrs[] = {inside(known_leaf), 0x1234, inside(known_caller)};

	add(f, WALK_END_BOTTOM, addrs, 3);
	build(f);
	assert_string_equal(folded(f, 0), "known_leaf;[truncated];" OWN_PROCESS_COMM);
}

/* Where there never is a mapping. */
#define GENERATED UINT64_C(0x1000)

TEST_FIXTURE(generated_code_is_named_before_its_mapping_is_read, set_up, tear_down)
{
	struct fixture *f = *state;
	const uint64_t addrs[] = {GENERATED + 8, GENERATED + 8, inside(known_caller)};
	const uint64_t others[] = {GENERATED + 8, GENERATED + 0x18, inside(known_caller)};

	f->self->jit_files = own_jit_files("1000 10 made\n");
	add(f, WALK_END_UNREADABLE, addrs, 3);
	add(f, WALK_END_UNREADABLE, others, 3);
	build(f);
	assert_int_equal(f->profile.n_samples, 2);
	assert_string_equal(folded(f, 0), "made;[truncated];" OWN_PROCESS_COMM);
	assert_string_equal(folded(f, 1), "made;made;known_caller;[truncated];" OWN_PROCESS_COMM);
}

TEST_FIXTURE(a_trampoline_of_python_is_not_the_function_again, set_up, tear_down)
{
	struct fixture *f = *state;
	const uint64_t addrs[] = {inside(known_leaf), GENERATED + 8, GENERATED + 8,
				  inside((void (*)(void))main)};

	f->self->jit_files = own_jit_files("1000 10 py::f1:/srv/my app.py\n");
	add_chained(f, 1, 0);
	add(f, WALK_END_BOTTOM, addrs, 4);
	build(f);
	/* the second one is a function that was called without the interpreter */
	assert_string_equal(folded(f, 0), "f1;f1;main;" OWN_PROCESS_COMM);
}

TEST_FIXTURE(a_trampoline_without_a_name_is_not_shown, set_up, tear_down)
{
	struct fixture *f = *state;
	const uint64_t generated = (uint64_t)(uintptr_t)&getenv; /* as if it were */
	const uint64_t addrs[] = {inside(known_leaf), generated, generated,
				  inside((void (*)(void))main)};
	struct process_mapping *m =
		f->self->mappings + (process_snapshot_find(f->self, generated) - f->self->mappings);
	struct mapped_file *file = m->file;

	m->file = NULL;
	add_chained(f, 1, 0);
	add(f, WALK_END_BOTTOM, addrs, 4);
	build(f);
	m->file = file;
	/* the second one does not call the interpreter */
	assert_string_equal(folded(f, 0), "f1;[unknown];main;" OWN_PROCESS_COMM);
}

TEST_FIXTURE(a_stack_that_changes_over_where_nothing_switches_is_cut, set_up, tear_down)
{
	struct fixture *f = *state;
	const uint64_t addrs[] = {inside(known_leaf), inside(known_caller), inside(known_leaf)};

	f->stack_switch = 1;
	add(f, WALK_END_BOTTOM, addrs, 3);
	build(f);
	assert_string_equal(folded(f, 0), "known_leaf;[truncated];" OWN_PROCESS_COMM);
}

TEST_FIXTURE(a_kernel_stack_that_is_cut_is_marked_where_it_is_cut, set_up, tear_down)
{
	struct fixture *f = *state;
	const uint64_t addrs[] = {inside(known_caller), inside((void (*)(void))main)};

	f->flags = SAMPLE_IN_KERNEL | SAMPLE_KERNEL_STACK_ERROR;
	add(f, WALK_END_BOTTOM, addrs, 2);
	f->flags = SAMPLE_IN_KERNEL | SAMPLE_KERNEL_THREAD | SAMPLE_KERNEL_STACK_CUT;
	add(f, WALK_END_NO_USER_STACK, addrs, 0);
	build(f);
	assert_int_equal(f->profile.n_samples, 2);
	assert_string_equal(folded(f, 0), "[truncated];" OWN_PROCESS_COMM);
	assert_string_equal(folded(f, 1), "[truncated];known_caller;main;" OWN_PROCESS_COMM);
	assert_int_equal(f->result.n_truncated, 2);
}

TEST_FIXTURE(a_stack_of_an_exited_process_without_mappings_is_marked, set_up, tear_down)
{
	struct fixture *f = *state;
	const uint64_t addrs[] = {inside(known_leaf), inside(known_caller)};
	size_t n_mappings = f->self->n_mappings;

	f->self->n_mappings = 0; /* as if they had not been read before it exited */
	add(f, WALK_END_BOTTOM, addrs, 2);
	build(f);
	f->self->n_mappings = n_mappings;
	assert_string_equal(folded(f, 0), "[unknown];[unknown];[truncated];" OWN_PROCESS_COMM);
	assert_int_equal(f->result.n_truncated, 1);
}

TEST_FIXTURE(losses_and_texts_about_the_workload_travel_as_comments, set_up, tear_down)
{
	struct fixture *f = *state;
	const uint64_t addrs[] = {inside(known_leaf)};

	add(f, WALK_END_BOTTOM, addrs, 1);
	cycle_add_lost(f->cycle, CYCLE_LOST_RING_FULL, 12);
	build(f);
	assert_int_equal(f->profile.n_comments, 5);
	assert_string_equal(f->profile.comments[0].data, "lost:ring_full=12");
	assert_string_equal(f->profile.comments[1].data, "runtime:java:off=2");
	assert_string_equal(f->profile.comments[2].data, "unwind:unproven=1");
	assert_string_equal(f->profile.comments[3].data, "unwind:seen:test_cpu_profile=1");
	assert_string_equal(f->profile.comments[4].data, "unwind:unproven:test_cpu_profile=1");
}

static bool has_comment(const struct fixture *f, const char *text)
{
	for (uint32_t i = 0; i < f->profile.n_comments; i++) {
		if (strcmp(f->profile.comments[i].data, text) == 0)
			return true;
	}
	return false;
}

TEST_FIXTURE(how_walks_ended_is_counted_and_where, set_up, tear_down)
{
	struct fixture *f = *state;
	const uint64_t whole[] = {inside(known_leaf), (uint64_t)(uintptr_t)main + 1};
	const uint64_t cut[] = {inside(known_leaf), inside(known_caller)};
	const uint64_t unseen[] = {inside(known_leaf), 0x1234567, (uint64_t)(uintptr_t)main + 1};
	const uint64_t astray[] = {inside(known_leaf), 0x1234};

	add(f, WALK_END_BOTTOM, whole, 2); /* by frame pointers alone */
	f->flags = SAMPLE_BY_TABLES | SAMPLE_GUESSED;
	add(f, WALK_END_BOTTOM, whole, 2);
	f->flags = SAMPLE_BY_TABLES;
	for (int i = 0; i < 3; i++)
		add(f, WALK_END_NO_TABLE, whole, 2);
	add(f, WALK_END_NO_TABLE, cut, 2);
	add(f, WALK_END_JIT, cut, 2);
	add(f, WALK_END_JIT, cut, 2);
	add(f, WALK_END_BOTTOM, unseen, 3); /* each step by a rule */
	f->flags = SAMPLE_BY_TABLES | SAMPLE_GUESSED;
	add(f, WALK_END_BOTTOM, astray, 2);
	build(f);
	assert_true(has_comment(f, "unwind:complete=4"));
	assert_true(has_comment(f, "unwind:no_table=1"));
	assert_true(has_comment(f, "unwind:jit=2"));
	assert_true(has_comment(f, "unwind:implausible=1"));
	assert_true(has_comment(f, "unwind:guessed=2"));
	assert_true(has_comment(f, "unwind:seen:test_cpu_profile=10"));
	assert_true(has_comment(f, "unwind:no_table:test_cpu_profile=1"));
	assert_true(has_comment(f, "unwind:jit:test_cpu_profile=2"));
	assert_true(has_comment(f, "unwind:implausible:test_cpu_profile=1"));
	assert_int_equal(f->result.n_truncated, 4);
	assert_int_equal(f->result.n_by_outcome[UNWIND_COMPLETE], 4);
	assert_int_equal(f->result.n_by_outcome[UNWIND_JIT], 2);
}

/* Where the code is in the file, by the address in the pprof. */
static uint64_t file_offset(const struct fixture *f, size_t location)
{
	const Perftools__Profiles__Location *l = f->raw->location[location];
	const Perftools__Profiles__Mapping *m = NULL;

	for (size_t i = 0; i < f->raw->n_mapping; i++) {
		if (f->raw->mapping[i]->id == l->mapping_id)
			m = f->raw->mapping[i];
	}
	if (!m) {
		fail_msg("no mapping");
		return 0;
	}
	assert_in_range(l->address, m->memory_start, m->memory_limit - 1);
	return l->address - m->memory_start + m->file_offset;
}

static uint64_t offset_of(const struct fixture *f, uint64_t address)
{
	const struct process_mapping *m = process_snapshot_find(f->self, address);

	assert_non_null(m);
	return address - m->start + m->file_offset;
}

/* A signal may come at the first byte of a function; a return address is never of that one. */
TEST_FIXTURE(what_a_signal_interrupted_is_named_by_its_own_byte, set_up, tear_down)
{
	struct fixture *f = *state;
	uint64_t addrs[] = {inside(known_leaf), handler_return_address(), (uintptr_t)known_caller,
			    (uint64_t)(uintptr_t)main + 1};
	uint64_t entry = offset_of(f, addrs[2]);
	char expected[256];

	f->addresses = true;
	add(f, WALK_END_BOTTOM, addrs, 4);
	build(f);
	(void)snprintf(expected, sizeof(expected), "known_leaf;%s;known_caller;main;%s",
		       SIGNAL_RETURN, OWN_PROCESS_COMM);
	assert_string_equal(folded(f, 0), expected);
	assert_int_equal(file_offset(f, 2), entry);
}

TEST_FIXTURE(locations_have_the_addresses_of_their_code_in_its_file, set_up, tear_down)
{
	struct fixture *f = *state;
	const uint64_t a[] = {inside(known_leaf), inside(known_caller) + 1};
	const uint64_t b[] = {inside(known_leaf) + 1, inside(known_caller) + 1};
	const Perftools__Profiles__Mapping *m;

	f->addresses = true;
	add(f, WALK_END_BOTTOM, a, 2);
	add(f, WALK_END_BOTTOM, b, 2);
	build(f);
	/* two instructions of a function are two locations, in different samples */
	assert_int_equal(f->profile.n_samples, 2);
	assert_int_equal(f->raw->n_location, 4);
	assert_int_equal(file_offset(f, 0) + file_offset(f, 3),
			 offset_of(f, a[0]) + offset_of(f, b[0]));
	assert_int_not_equal(file_offset(f, 0), file_offset(f, 3));
	assert_int_equal(file_offset(f, 1), offset_of(f, a[1] - 1));
	assert_int_equal(f->raw->n_mapping, 2);
	m = f->raw->mapping[0];
	assert_non_null(strstr(f->raw->string_table[m->filename], "/test_cpu_profile"));
	assert_int_equal(strlen(f->raw->string_table[m->build_id]), 40);
	assert_true(m->has_functions);
	/* what is in no file has no address that would tell where this process is */
	assert_int_equal(f->raw->location[2]->mapping_id, 1);
	assert_int_equal(f->raw->location[2]->address, 0);
}

TEST_FIXTURE(without_addresses_instructions_of_a_function_are_one, set_up, tear_down)
{
	struct fixture *f = *state;
	const uint64_t a[] = {inside(known_leaf), inside(known_caller)};
	const uint64_t b[] = {inside(known_leaf) + 1, inside(known_caller)};

	add(f, WALK_END_BOTTOM, a, 2);
	add(f, WALK_END_BOTTOM, b, 2);
	build(f);
	assert_int_equal(f->profile.n_samples, 1);
	assert_int_equal(f->raw->n_mapping, 1);
	assert_int_equal(f->raw->location[0]->address, 0);
}
