#include <errno.h>

#include "cluster-agent/operator/spec/spec_problems.h"
#include "test/lib/unit.h"

TEST(texts_are_made_fit_for_a_status)
{
	CLEANUP(spec_problems_fini) struct spec_problems p = {0};
	char text[1000];

	memset(text, 'x', sizeof(text));
	text[sizeof(text) - 1] = '\0';
	assert_int_equal(spec_problems_wrong(&p, "spec.a\nb", "is \"%s\" %d", "\x1b[1m\xff", 5), 0);
	assert_int_equal(spec_problems_wrong(&p, text, "%s", text), 0);
	assert_int_equal(spec_problems_unused(&p, "spec.c", NULL), 0);
	assert_int_equal(p.wrong.n, 2);
	assert_string_equal(p.wrong.at[0].path, "spec.a?b");
	assert_string_equal(p.wrong.at[0].text, "is \"?[1m?\" 5");
	assert_int_equal(strlen(p.wrong.at[1].path), 256);
	assert_int_equal(strlen(p.wrong.at[1].text), 256);
	assert_int_equal(spec_problems_unused(&p, "spec.d", "\x07 is unknown"), 0);
	assert_int_equal(p.unused.n, 2);
	assert_string_equal(p.unused.at[0].path, "spec.c");
	assert_null(p.unused.at[0].text);
	assert_string_equal(p.unused.at[1].text, "? is unknown");
}

TEST(what_is_beyond_the_limit_is_counted)
{
	CLEANUP(spec_problems_fini) struct spec_problems p = {0};

	for (int i = 0; i < SPEC_PROBLEMS_MAX + 3; i++) {
		assert_int_equal(spec_problems_wrong(&p, "a", "%d", i), 0);
		assert_int_equal(spec_problems_unused(&p, "a", NULL), 0);
	}
	assert_int_equal(p.wrong.n, SPEC_PROBLEMS_MAX);
	assert_int_equal(p.wrong.n_more, 3);
	assert_int_equal(p.unused.n, SPEC_PROBLEMS_MAX);
	assert_int_equal(p.unused.n_more, 3);
	spec_problems_fini(&p);
	assert_int_equal(p.wrong.n + p.wrong.n_more + p.unused.n + p.unused.n_more, 0);
}

static int report(void *arg)
{
	CLEANUP(spec_problems_fini) struct spec_problems p = {0};
	int r = spec_problems_wrong(&p, "spec.a", "is wrong");

	(void)arg;
	return r < 0 ? r : spec_problems_unused(&p, "spec.b", "is not known");
}

TEST(memory_may_be_short)
{
	check_oom(report, NULL);
}
