#include "node-agent/unwind/assembly_table.h"
#include "test/lib/unit.h"

#define FIRST 0x401000u

/* What the walk in BPF finds for this address. */
static uint16_t words_at(const struct go_frame_table *t, uint64_t address)
{
	size_t i = 0;

	while (i + 1 < GO_ASSEMBLY_RANGES && t->start[i + 1] <= address - FIRST)
		i++;
	return t->words[i];
}

static void code_between_the_ranges_is_unknown(void **state)
{
	static const struct gopclntab_assembly ranges[] = {
		{FIRST + 0x20, FIRST + 0x40, 0},
		{FIRST + 0x40, FIRST + 0x80, 24},
		{FIRST + 0x100, FIRST + 0x200, 0x220},
	};
	struct go_frame_table t;

	(void)state;
	assert_int_equal(assembly_table_fill(&t, ranges, ARRAY_SIZE(ranges), FIRST), 0);
	assert_int_equal(words_at(&t, FIRST), GO_ASSEMBLY_UNKNOWN);
	assert_int_equal(words_at(&t, FIRST + 0x1f), GO_ASSEMBLY_UNKNOWN);
	assert_int_equal(words_at(&t, FIRST + 0x20), 0);
	assert_int_equal(words_at(&t, FIRST + 0x3f), 0);
	assert_int_equal(words_at(&t, FIRST + 0x40), 3);
	assert_int_equal(words_at(&t, FIRST + 0x80), GO_ASSEMBLY_UNKNOWN);
	assert_int_equal(words_at(&t, FIRST + 0x1ff), 0x44);
	assert_int_equal(words_at(&t, FIRST + 0x200), GO_ASSEMBLY_UNKNOWN);
	assert_int_equal(words_at(&t, FIRST + 0x7fffffff), GO_ASSEMBLY_UNKNOWN);
	for (size_t i = 1; i < GO_ASSEMBLY_RANGES; i++)
		assert_true(t.start[i] > t.start[i - 1] || t.start[i] == UINT32_MAX);
	assert_int_equal(t.start[0], 0);
}

static void a_range_at_the_first_function_needs_no_gap(void **state)
{
	static const struct gopclntab_assembly range = {FIRST, FIRST + 0x40, 16};
	struct go_frame_table t;

	(void)state;
	assert_int_equal(assembly_table_fill(&t, &range, 1, FIRST), 0);
	assert_int_equal(words_at(&t, FIRST), 2);
	assert_int_equal(words_at(&t, FIRST + 0x40), GO_ASSEMBLY_UNKNOWN);
}

static void useless_and_impossible_ranges_are_ignored(void **state)
{
	static const struct gopclntab_assembly ranges[] = {
		{FIRST + 0x10, FIRST + 0x18, 8},           /* short */
		{FIRST + 0x20, FIRST + 0x40, 8},           /* good */
		{FIRST + 0x30, FIRST + 0x60, 16},          /* overlaps it */
		{FIRST + 0x80, FIRST + 0xc0, 12},          /* not whole words */
		{FIRST + 0xc0, FIRST + 0xf0, 8 * 0xffffu}, /* too large */
		{FIRST + 0x100, FIRST + (1ull << 32), 8},  /* too far */
	};
	struct go_frame_table t;

	(void)state;
	assert_int_equal(assembly_table_fill(&t, ranges, ARRAY_SIZE(ranges), FIRST), 0);
	for (uint64_t at = 0; at < 0x200; at++)
		assert_int_equal(words_at(&t, FIRST + at),
				 at >= 0x20 && at < 0x40 ? 1 : GO_ASSEMBLY_UNKNOWN);
}

static void too_many_ranges_are_counted(void **state)
{
	static struct gopclntab_assembly ranges[GO_ASSEMBLY_RANGES];
	struct go_frame_table t;
	size_t dropped, fit;

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(ranges); i++)
		ranges[i] = (struct gopclntab_assembly){FIRST + 0x20 + i * 0x40,
							FIRST + 0x40 + i * 0x40, 8};
	dropped = assembly_table_fill(&t, ranges, ARRAY_SIZE(ranges), FIRST);
	fit = ARRAY_SIZE(ranges) - dropped;
	assert_true(dropped > 0 && fit >= GO_ASSEMBLY_RANGES / 2 - 1);
	assert_int_equal(words_at(&t, ranges[fit - 1].start), 1);
	assert_int_equal(words_at(&t, ranges[fit].start), GO_ASSEMBLY_UNKNOWN);
	assert_int_equal(words_at(&t, ranges[ARRAY_SIZE(ranges) - 1].start), GO_ASSEMBLY_UNKNOWN);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(code_between_the_ranges_is_unknown),
		cmocka_unit_test(a_range_at_the_first_function_needs_no_gap),
		cmocka_unit_test(useless_and_impossible_ranges_are_ignored),
		cmocka_unit_test(too_many_ranges_are_counted),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
