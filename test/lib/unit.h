/*
 * Included by every test in C: cmocka with the headers it needs, TEST(), temp_dir(), eventually(),
 * and check_oom() for constructors and decoders.
 */
#ifndef TEST_LIB_UNIT_H
#define TEST_LIB_UNIT_H

/* cmocka.h needs these four before it */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "common/base.h"

/*
 * Defines a test. The tests of a binary run in the order in which they are written; main() is in
 * unit.c, and the environment variable FILTER chooses those whose name contains it.
 */
#define TEST(name) TEST_FIXTURE(name, NULL, NULL)

/*
 * A test that runs between set_up and tear_down, functions of type int (void **state). What the
 * first stores in *state is what the test finds there.
 */
#define TEST_FIXTURE(name, set_up, tear_down)                                         \
	static void name(void **state);                                               \
	__attribute__((constructor)) static void name##_is_a_test(void)               \
	{                                                                             \
		unit_add(&(struct CMUnitTest){#name, name, set_up, tear_down, NULL}); \
	}                                                                             \
	static void name(void **state __attribute__((unused)))

/* Runs start before the first test of this file, and stop after the last one. */
#define GROUP_FIXTURE(start, stop)                                       \
	__attribute__((constructor)) static void set_group_fixture(void) \
	{                                                                \
		unit_set_group(start, stop);                             \
	}

void unit_add(const struct CMUnitTest *test);
void unit_set_group(CMFixtureFunction start, CMFixtureFunction stop);

/* Runs all tests, for a main() of a test's own. Returns the number of those that failed. */
int unit_run(CMFixtureFunction start, CMFixtureFunction stop);

/*
 * Makes an empty directory, which is removed with all that it has when the program ends. Returns
 * its path, which stays valid.
 */
const char *temp_dir(void);

/* Removes a directory with everything in it; does not follow links. Returns 0, or -1 with errno. */
int remove_tree(const char *dir);

/*
 * Waits until the condition holds, which is evaluated every few milliseconds, and fails the test
 * if it does not within five minutes: that is enough on any busy machine.
 */
#define eventually(condition) eventually_by((void)0, condition)

/* The same, with a step before each evaluation: whatever brings the condition about. */
#define eventually_by(step, condition)                                          \
	do {                                                                    \
		uint64_t begun_ns_ = 0;                                         \
		for (;;) {                                                      \
			step;                                                   \
			if (condition)                                          \
				break;                                          \
			unit_pause(&begun_ns_, #condition, __FILE__, __LINE__); \
		}                                                               \
	} while (0)

/* Of eventually(). */
void unit_pause(uint64_t *begun_ns, const char *condition, const char *file, int line);

/*
 * Runs body once per allocation that it makes, failing that allocation. It must return -ENOMEM
 * each time, and 0 in the last run, in which nothing failed. ASan finds the leaks. Only
 * allocations in our own objects fail (the linker wraps malloc, calloc, realloc and strdup),
 * not those in libraries.
 */
void check_oom(int (*body)(void *), void *arg);

/* Calls body once while its first allocation fails; returns what it returned. */
int call_without_memory(int (*body)(void *), void *arg);

#endif /* TEST_LIB_UNIT_H */
