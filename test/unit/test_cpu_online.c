#include <errno.h>

#include "node-agent/sample/cpu_online.h"
#include "test/lib/unit.h"

static const struct {
	const char *text;
	int r;
	unsigned n;
	unsigned first, last; /* both in the set */
} cases[] = {
	{"0\n", 0, 1, 0, 0},          {"0-3,8\n", 0, 5, 0, 8},
	{"0-8191", 0, 8192, 0, 8191}, {"3,1", 0, 2, 1, 3},
	{"2-2", 0, 1, 2, 2},          {"0,0-1", 0, 2, 0, 1},
	{"8192", -ERANGE, 0, 0, 0},   {"0-99999999999999999999", -ERANGE, 0, 0, 0},
	{"3-1", -EBADMSG, 0, 0, 0},   {"0,", -EBADMSG, 0, 0, 0},
	{",0", -EBADMSG, 0, 0, 0},    {"0-", -EBADMSG, 0, 0, 0},
	{"-1", -EBADMSG, 0, 0, 0},    {"0 1", -EBADMSG, 0, 0, 0},
	{"abc", -EBADMSG, 0, 0, 0},
};

TEST(reads_what_the_kernel_writes_and_refuses_the_rest)
{
	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		struct cpu_set_bits s = {0};

		assert_int_equal(cpu_online_parse(cases[i].text, strlen(cases[i].text), &s),
				 cases[i].r);
		assert_int_equal(cpu_set_count(&s), cases[i].n);
		if (cases[i].r < 0)
			continue;
		assert_true(cpu_set_has(&s, cases[i].first));
		assert_true(cpu_set_has(&s, cases[i].last));
		assert_false(cpu_set_has(&s, CPU_ONLINE_MAX));
	}
}

TEST(an_empty_line_is_the_empty_set)
{
	struct cpu_set_bits s = {{1}};

	assert_int_equal(cpu_online_parse("\n", 1, &s), 0);
	assert_int_equal(cpu_set_count(&s), 0);
}

TEST(minus_is_what_came_and_what_went)
{
	struct cpu_set_bits before = {0}, after = {0}, d;

	assert_int_equal(cpu_online_parse("0-3", 3, &before), 0);
	assert_int_equal(cpu_online_parse("0,2,64", 6, &after), 0);
	d = cpu_set_minus(&after, &before);
	assert_int_equal(cpu_set_count(&d), 1);
	assert_true(cpu_set_has(&d, 64));
	d = cpu_set_minus(&before, &after);
	assert_int_equal(cpu_set_count(&d), 2);
	assert_true(cpu_set_has(&d, 1) && cpu_set_has(&d, 3));
	cpu_set_remove(&d, 3);
	cpu_set_remove(&d, 3);
	assert_int_equal(cpu_set_count(&d), 1);
}
