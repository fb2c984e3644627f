#include "common/text/near_name.h"

#include <limits.h>

#include "test/lib/unit.h"

static unsigned within(unsigned max, const char *a, const char *b)
{
	unsigned n = near_name_edits(a, b, max);

	assert_int_equal(near_name_edits(b, a, max), n);
	return n;
}

TEST(edits_are_counted)
{
	assert_int_equal(within(3, "", ""), 0);
	assert_int_equal(within(3, "abc", ""), 3);
	assert_int_equal(within(2, "abc", ""), UINT_MAX);
	assert_int_equal(within(3, "kitten", "sitting"), 3);
	assert_int_equal(within(2, "kitten", "sitting"), UINT_MAX);
	assert_int_equal(within(0, "Log-Level", "log_level"), 0);
	assert_int_equal(within(9, "abcdef", "badcfe"), 3);
	assert_int_equal(within(9, "ca", "abc"), 3);
	assert_int_equal(within(9, "porfile", "profile"), 1);
}

TEST(a_long_name_is_near_to_none)
{
	char name[1000];

	memset(name, 'a', sizeof(name));
	name[NEAR_NAME_BYTES] = '\0';
	assert_int_equal(within(9, name, name), UINT_MAX);
	assert_int_equal(near_name_distance(name, name), UINT_MAX);
	name[NEAR_NAME_BYTES - 1] = '\0';
	assert_int_equal(within(9, name, name), 0);
}

TEST(what_was_meant_is_found)
{
	static const struct {
		const char *name, *known;
	} meant[] = {
		{"GO_HEAP_PROFILR", "GO_HEAP_PROFILER"},
		{"GO_HEAP_PROFILERS", "GO_HEAP_PROFILER"},
		{"GO_HEAP_PROFILING", "GO_HEAP_PROFILER"},
		{"GOHEAP_PROFILER", "GO_HEAP_PROFILER"},
		{"HEAP_PROFILER", "GO_HEAP_PROFILER"},
		{"go.heap.profiler", "GO_HEAP_PROFILER"},
		{"LOGLEVEL", "LOG_LEVEL"},
		{"LISTN", "LISTEN"},
		{"JAVA_ASYNC_PROFILER", "ENABLE_JAVA_ASYNC_PROFILER"},
		{"COROOT_ENABLE_JAVA_ASYNC_PROFILER", "ENABLE_JAVA_ASYNC_PROFILER"},
		{"COROOT_JAVA_ASYNC_PROFILER", "ENABLE_JAVA_ASYNC_PROFILER"},
		{"COROOT_ULR", "COROOT_URL"},
	};
	static const struct {
		const char *name, *known;
	} others[] = {
		{"TRACES_ENDPOINT", "PROFILES_ENDPOINT"},
		{"METRICS_ENDPOINT", "PROFILES_ENDPOINT"},
		{"LISTEN_FDS", "LISTEN"},
		{"TOKEN", "LISTEN"},
		{"POD_NAME", "NODE_NAME"},
		{"CCACHE_DIR", "CACHE_DIR"},
		{"URL", "COROOT_URL"},
		{"MY_LOG_LEVEL", "LOG_LEVEL"},
		{"OTEL_LOG_LEVEL", "LOG_LEVEL"},
		{"COROOT_COROOT_SERVICE_HOST", "HOST_ROOT"},
		{"HOME", "NAME"},
		{"", "LISTEN"},
	};

	for (size_t i = 0; i < ARRAY_SIZE(meant); i++)
		if (near_name_distance(meant[i].name, meant[i].known) == UINT_MAX)
			fail_msg("%s is not %s", meant[i].name, meant[i].known);
	for (size_t i = 0; i < ARRAY_SIZE(others); i++)
		if (near_name_distance(others[i].name, others[i].known) < UINT_MAX)
			fail_msg("%s is %s", others[i].name, others[i].known);
	/* a mistake is nearer than a word that lacks */
	assert_true(near_name_distance("JAVA_LOCK_INTERVALL", "JAVA_LOCK_INTERVAL") <
		    near_name_distance("LOCK_INTERVAL", "JAVA_LOCK_INTERVAL"));
}
