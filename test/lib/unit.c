#include "test/lib/unit.h"

#include <stdio.h>
#include <stdlib.h>

#define TESTS_MAX 256u

static struct CMUnitTest tests[TESTS_MAX];
static size_t n_tests;
static CMFixtureFunction group_start, group_stop;

/* Called before main(), when no test can fail yet. */
void unit_add(const struct CMUnitTest *test)
{
	if (n_tests == TESTS_MAX) {
		fprintf(stderr, "more than %u tests in one binary\n", TESTS_MAX);
		abort();
	}
	tests[n_tests++] = *test;
}

void unit_set_group(CMFixtureFunction start, CMFixtureFunction stop)
{
	group_start = start;
	group_stop = stop;
}

int unit_run(CMFixtureFunction start, CMFixtureFunction stop)
{
	const char *filter = getenv("FILTER");
	char pattern[256];

	if (filter && filter[0]) {
		snprintf(pattern, sizeof(pattern), "*%s*", filter);
		cmocka_set_test_filter(pattern);
	}
	return _cmocka_run_group_tests("tests", tests, n_tests, start, stop);
}

/* Weak: some tests have a main() of their own, because they also run as another program. */
__attribute__((weak)) int main(void)
{
	return unit_run(group_start, group_stop);
}
