#include "node-agent/interpreter/script_lines.h"

#include "test/lib/unit.h"

static uint32_t *lines_of(uint32_t n)
{
	uint32_t *ret = malloc(sizeof(*ret));

	assert_non_null(ret);
	*ret = n;
	return ret;
}

TEST(lines_are_those_of_the_source_and_process)
{
	struct script_lines s = {.process = 1};

	assert_null(script_lines_find(&s, 0x1000, 50));
	script_lines_add(&s, 0x1000, 50, lines_of(7));
	assert_int_equal(*script_lines_find(&s, 0x1000, 50), 7);
	assert_null(script_lines_find(&s, 0x1000, 51)); /* another source is there by now */
	assert_null(script_lines_find(&s, 0x1008, 50));
	s.process = 2;
	assert_null(script_lines_find(&s, 0x1000, 50));
	script_lines_add(&s, 0x1000, 50, lines_of(8));
	assert_int_equal(*script_lines_find(&s, 0x1000, 50), 8);
	s.process = 1;
	assert_int_equal(*script_lines_find(&s, 0x1000, 50), 7);
	script_lines_fini(&s);
	assert_null(script_lines_find(&s, 0x1000, 50));
}

TEST(those_that_were_added_first_are_replaced)
{
	struct script_lines s = {0};

	for (uint32_t i = 0; i < SCRIPT_LINES_MAX + 2; i++)
		script_lines_add(&s, i, 50, lines_of(i));
	assert_null(script_lines_find(&s, 0, 50));
	assert_null(script_lines_find(&s, 1, 50));
	for (uint32_t i = 2; i < SCRIPT_LINES_MAX + 2; i++)
		assert_int_equal(*script_lines_find(&s, i, 50), i);
	script_lines_fini(&s);
}

TEST(what_counts_them_may_go_round)
{
	struct script_lines s = {.next = UINT32_MAX};

	script_lines_add(&s, 1, 50, lines_of(1));
	script_lines_add(&s, 2, 50, lines_of(2));
	assert_int_equal(*script_lines_find(&s, 1, 50), 1);
	assert_int_equal(*script_lines_find(&s, 2, 50), 2);
	script_lines_fini(&s);
}
