/* Stacks of the test's own process through the real symbolizer, read back as pprof. */
#include "common/limits.h"
#include "common/pprof/pprof_decode.h"
#include "node-agent/profile/cpu_profile.h"
#include "node-agent/sample/cycle.h"
#include "node-agent/symbol/symbolizer.h"
#include "test/lib/own_process.h"
#include "test/lib/unit.h"

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
	uint8_t flags;         /* of the next sample */
};

__attribute__((noinline)) void known_leaf(void);
__attribute__((noinline)) void known_caller(void);
int main(void);

/* several instructions, so that a byte after the entry is inside */
void known_leaf(void)
{
	__asm__ volatile("nop; nop; nop; nop");
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
		uint64_t addrs[8];
	} sample = {0};

	sample.e.header.size = (uint32_t)(sizeof(sample.e) + n * sizeof(uint64_t));
	sample.e.n_user = n;
	sample.e.end = (uint8_t)end;
	sample.e.stack_switch[0] = f->stack_switch;
	sample.e.flags = f->flags;
	memcpy(sample.addrs, addrs, n * sizeof(*addrs));
	assert_int_equal(cycle_add_sample(f->cycle, f->self, &sample.e), 0);
}

static void keep(void *ctx, const struct workload_profile *p)
{
	struct fixture *f = ctx;
	struct err err = {""};

	f->n_profiles++;
	assert_string_equal(p->workload->service, f->self->workload->service);
	assert_int_equal(pprof_decode(&f->profile, &f->arena, p->pprof->data, p->pprof->len, &err),
			 0);
}

static void build(struct fixture *f)
{
	const struct cpu_profile_config cfg = {100, 5000000000, 1000000000};

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

static void a_stack_that_ends_in_main_is_whole(void **state)
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

static void a_stack_that_just_stops_is_marked(void **state)
{
	struct fixture *f = *state;
	const uint64_t addrs[] = {inside(known_leaf), inside(known_caller)};

	add(f, WALK_END_UNREADABLE, addrs, 2);
	build(f);
	assert_string_equal(folded(f, 0), "known_leaf;known_caller;[truncated];" OWN_PROCESS_COMM);
	assert_int_equal(f->result.n_truncated, 1);
}

static void frame_pointer_zero_proves_the_bottom_after_a_step_only(void **state)
{
	struct fixture *f = *state;
	const uint64_t addrs[] = {inside(known_leaf), inside(known_caller)};

	add(f, WALK_END_BOTTOM, addrs, 2);
	add(f, WALK_END_BOTTOM, addrs, 1);
	build(f);
	assert_int_equal(f->profile.n_samples, 2);
	assert_int_equal(f->result.n_truncated, 1);
}

static void an_address_that_cannot_be_code_cuts_the_stack(void **state)
{
	struct fixture *f = *state;
	const uint64_t addrs[] = {inside(known_leaf), 0x1234, inside(known_caller)};

	add(f, WALK_END_BOTTOM, addrs, 3);
	build(f);
	assert_string_equal(folded(f, 0), "known_leaf;[truncated];" OWN_PROCESS_COMM);
}

static void a_stack_that_changes_over_where_nothing_switches_is_cut(void **state)
{
	struct fixture *f = *state;
	const uint64_t addrs[] = {inside(known_leaf), inside(known_caller), inside(known_leaf)};

	f->stack_switch = 1;
	add(f, WALK_END_BOTTOM, addrs, 3);
	build(f);
	assert_string_equal(folded(f, 0), "known_leaf;[truncated];" OWN_PROCESS_COMM);
}

static void a_kernel_stack_that_is_cut_is_marked_where_it_is_cut(void **state)
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

static void a_stack_of_an_exited_process_without_mappings_is_marked(void **state)
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

static void losses_travel_as_comments(void **state)
{
	struct fixture *f = *state;
	const uint64_t addrs[] = {inside(known_leaf)};

	add(f, WALK_END_BOTTOM, addrs, 1);
	cycle_add_lost(f->cycle, CYCLE_LOST_RING_FULL, 12);
	build(f);
	assert_int_equal(f->profile.n_comments, 1);
	assert_string_equal(f->profile.comments[0].data, "lost:ring_full=12");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(a_stack_that_ends_in_main_is_whole, set_up,
						tear_down),
		cmocka_unit_test_setup_teardown(a_stack_that_just_stops_is_marked, set_up,
						tear_down),
		cmocka_unit_test_setup_teardown(
			frame_pointer_zero_proves_the_bottom_after_a_step_only, set_up, tear_down),
		cmocka_unit_test_setup_teardown(an_address_that_cannot_be_code_cuts_the_stack,
						set_up, tear_down),
		cmocka_unit_test_setup_teardown(
			a_stack_that_changes_over_where_nothing_switches_is_cut, set_up, tear_down),
		cmocka_unit_test_setup_teardown(
			a_kernel_stack_that_is_cut_is_marked_where_it_is_cut, set_up, tear_down),
		cmocka_unit_test_setup_teardown(
			a_stack_of_an_exited_process_without_mappings_is_marked, set_up, tear_down),
		cmocka_unit_test_setup_teardown(losses_travel_as_comments, set_up, tear_down),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
