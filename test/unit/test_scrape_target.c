#include "cluster-agent/discover/scrape_target.h"
#include "test/lib/unit.h"

static enum profile_kind find(const char *name)
{
	return profile_kind_find(name, strlen(name));
}

TEST(kinds_are_found_by_our_names_and_grafanas)
{
	for (unsigned k = 0; k < PROFILE_KIND_MAX; k++)
		assert_int_equal(find(profile_kind_name((enum profile_kind)k)), k);
	assert_int_equal(find("memory"), PROFILE_KIND_HEAP);
	assert_int_equal(find("profile"), PROFILE_KIND_MAX);
	assert_int_equal(find("Heap"), PROFILE_KIND_MAX);
	assert_int_equal(profile_kind_find("heap", 3), PROFILE_KIND_MAX);
	assert_int_equal(find(""), PROFILE_KIND_MAX);
}

TEST(paths_are_those_of_go)
{
	assert_string_equal(profile_kind_path(PROFILE_KIND_CPU), "/debug/pprof/profile");
	assert_string_equal(profile_kind_path(PROFILE_KIND_HEAP), "/debug/pprof/heap");
	assert_string_equal(profile_kind_path(PROFILE_KIND_GOROUTINE), "/debug/pprof/goroutine");
	assert_string_equal(profile_kind_path(PROFILE_KIND_MUTEX), "/debug/pprof/mutex");
	assert_string_equal(profile_kind_path(PROFILE_KIND_BLOCK), "/debug/pprof/block");
}
