#include "test/lib/unit.h"

#include <errno.h>
#include <ftw.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>
#include <unistd.h>

#define TESTS_MAX 256u
#define DIRS_MAX 256u
#define DIR_BYTES 96u
#define PATIENCE_NS UINT64_C(300000000000)
#define PAUSE_US 5000u

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

static char dirs[DIRS_MAX][DIR_BYTES];
static size_t n_dirs, first_own_dir;
static pid_t dirs_owner;

static int remove_entry(const char *path, const struct stat *st, int type, struct FTW *ftw)
{
	(void)st;
	(void)type;
	(void)ftw;
	return remove(path);
}

int remove_tree(const char *dir)
{
	return nftw(dir, remove_entry, 16, FTW_DEPTH | FTW_PHYS);
}

/* What else is mounted there stays. */
static void remove_dirs(void)
{
	while (getpid() == dirs_owner && n_dirs > first_own_dir)
		(void)nftw(dirs[--n_dirs], remove_entry, 16, FTW_DEPTH | FTW_PHYS | FTW_MOUNT);
}

const char *temp_dir(void)
{
	assert_true(n_dirs < DIRS_MAX);
	if (dirs_owner != getpid()) { /* those of a parent are not removed by a child */
		first_own_dir = n_dirs;
		dirs_owner = getpid();
		assert_int_equal(atexit(remove_dirs), 0);
	}
	snprintf(dirs[n_dirs], DIR_BYTES, "/tmp/%.64s.XXXXXX", program_invocation_short_name);
	assert_non_null(mkdtemp(dirs[n_dirs]));
	return dirs[n_dirs++];
}

void unit_pause(uint64_t *begun_ns, const char *condition, const char *file, int line)
{
	struct timespec now;
	uint64_t now_ns;

	(void)clock_gettime(CLOCK_MONOTONIC, &now);
	now_ns = (uint64_t)now.tv_sec * UINT64_C(1000000000) + (uint64_t)now.tv_nsec;
	if (*begun_ns == 0)
		*begun_ns = now_ns;
	if (now_ns - *begun_ns > PATIENCE_NS) {
		print_error("%s:%d: never: %s\n", file, line, condition);
		_fail(file, line);
	}
	(void)usleep(PAUSE_US);
}
