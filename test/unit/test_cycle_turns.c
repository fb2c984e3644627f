#include "node-agent/sample/cycle_turns.h"

#include "common/system/clock.h"
#include "test/lib/unit.h"

static const struct cycle_config cfg = {.max_stacks = 100, .max_bytes = 1 << 20};

TEST(samples_are_in_the_cycle_of_the_time_when_they_were_made)
{
	CLEANUP(cycle_turns_fini) struct cycle_turns t = {0};
	uint64_t before_ns = clock_realtime_ns(), start, next;
	const struct cycle *first, *second;
	struct cycle_turn done;
	int64_t duration_ns;

	assert_int_equal(cycle_turn_begin(&t.current, &cfg), 0);
	first = t.current.cycle;
	start = t.current.start_mono_ns;
	assert_true(t.current.start_ns >= before_ns);
	/* until another one begins, all are in this one */
	assert_ptr_equal(cycle_turns_at(&t, start - 1), first);
	assert_ptr_equal(cycle_turns_at(&t, start + 3600 * NS_PER_S), first);

	assert_int_equal(cycle_turn_begin(&t.next, &cfg), 0);
	second = t.next.cycle;
	next = t.next.start_mono_ns;
	assert_true(next >= start);
	/* however late they are read */
	assert_ptr_equal(cycle_turns_at(&t, next - 1), first);
	assert_ptr_equal(cycle_turns_at(&t, next), second);
	assert_ptr_equal(cycle_turns_at(&t, next + 3600 * NS_PER_S), second);

	done = cycle_turns_end(&t, &duration_ns);
	assert_ptr_equal(done.cycle, first);
	assert_int_equal(duration_ns, next - start);
	assert_int_equal(t.current.start_mono_ns, next);
	assert_ptr_equal(cycle_turns_at(&t, next), second);
	assert_null(t.next.cycle);
	cycle_free(done.cycle);
}

/* There was no memory for it. */
TEST(without_a_next_cycle_the_current_one_goes_on)
{
	CLEANUP(cycle_turns_fini) struct cycle_turns t = {0};

	assert_int_equal(cycle_turn_begin(&t.current, &cfg), 0);
	t.next.start_mono_ns = 1;
	assert_ptr_equal(cycle_turns_at(&t, UINT64_MAX), t.current.cycle);
}
