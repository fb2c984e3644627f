#include "node-agent/profile/unwind_report.h"

#include "test/lib/unit.h"

struct fixture {
	struct unwind_report *report;
	char texts[UNWIND_REPORT_TEXTS][UNWIND_REPORT_TEXT_BYTES];
	size_t n;
};

static int set_up(void **state)
{
	struct fixture *f = calloc(1, sizeof(*f));

	assert_non_null(f);
	assert_int_equal(unwind_report_new(&f->report), 0);
	*state = f;
	return 0;
}

static int tear_down(void **state)
{
	struct fixture *f = *state;

	unwind_report_free(f->report);
	free(f);
	return 0;
}

static bool has(const struct fixture *f, const char *text)
{
	for (size_t i = 0; i < f->n; i++) {
		if (strcmp(f->texts[i], text) == 0)
			return true;
	}
	return false;
}

TEST_FIXTURE(a_binary_is_seen_once_in_a_stack_and_blamed_for_its_end, set_up, tear_down)
{
	struct fixture *f = *state;
	uint32_t libc = unwind_report_binary(f->report, "/usr/lib/libc.so.6");
	uint32_t foo = unwind_report_binary(f->report, "/opt/a b=c/lib foo=1.so");

	assert_int_not_equal(libc, foo);
	assert_int_equal(unwind_report_binary(f->report, "/other/libc.so.6"), libc);
	unwind_report_see(f->report, foo);
	unwind_report_see(f->report, libc);
	unwind_report_see(f->report, foo);
	unwind_report_add(f->report, UNWIND_NO_TABLE, foo, 5);
	unwind_report_see(f->report, libc);
	unwind_report_add(f->report, UNWIND_COMPLETE, libc, 2);
	f->n = unwind_report_write(f->report, f->texts);
	assert_int_equal(f->n, 5);
	assert_string_equal(f->texts[0], "unwind:complete=2");
	assert_string_equal(f->texts[1], "unwind:no_table=5");
	assert_string_equal(f->texts[2], "unwind:seen:lib_foo_1.so=5");
	assert_string_equal(f->texts[3], "unwind:no_table:lib_foo_1.so=5");
	assert_string_equal(f->texts[4], "unwind:seen:libc.so.6=7");
	assert_int_equal(unwind_report_count(f->report, UNWIND_NO_TABLE), 5);
}

TEST_FIXTURE(binaries_that_end_walks_come_first_and_are_bounded, set_up, tear_down)
{
	struct fixture *f = *state;
	char path[64];

	for (unsigned i = 0; i < 2 * UNWIND_REPORT_BINARIES; i++) {
		uint32_t n;

		snprintf(path, sizeof(path), "/lib/lib%u.so", i);
		n = unwind_report_binary(f->report, path);
		assert_int_equal(n == 0, i >= UNWIND_REPORT_BINARIES - 1);
		unwind_report_see(f->report, n);
		unwind_report_add(f->report, i == 77 ? UNWIND_JIT : UNWIND_COMPLETE, n, i + 1);
	}
	f->n = unwind_report_write(f->report, f->texts);
	assert_int_equal(f->n, 2 + UNWIND_REPORT_SHOWN + 1);
	assert_string_equal(f->texts[2], "unwind:seen:lib77.so=78");
	assert_string_equal(f->texts[3], "unwind:jit:lib77.so=78");
	assert_string_equal(f->texts[4], "unwind:seen:lib254.so=255");
}

TEST_FIXTURE(texts_are_bounded, set_up, tear_down)
{
	struct fixture *f = *state;
	char path[64];

	for (unsigned i = 0; i < 2 * UNWIND_REPORT_SHOWN; i++) {
		/* what is behind the 40th character does not count */
		snprintf(path, sizeof(path), "/lib/%02u%048u", i, i);
		for (enum unwind_outcome o = 0; o < UNWIND_OUTCOME_MAX; o++) {
			uint32_t n = unwind_report_binary(f->report, path);

			unwind_report_see(f->report, n);
			unwind_report_add(f->report, o, n, 1);
		}
	}
	f->n = unwind_report_write(f->report, f->texts);
	assert_int_equal(f->n, UNWIND_REPORT_TEXTS);
	assert_true(has(f, "unwind:jit=20"));
	assert_true(has(f, "unwind:seen:0000000000000000000000000000000000000000=15"));
	assert_true(has(f, "unwind:jit:0000000000000000000000000000000000000000=1"));
}

static int build(void *arg)
{
	struct unwind_report *r;
	int e = unwind_report_new(&r);

	(void)arg;
	if (e == 0)
		unwind_report_free(r);
	return e;
}

TEST(memory_may_be_missing)
{
	check_oom(build, NULL);
}
