#include "cluster-agent/query/read/profile_types.h"
#include "test/lib/unit.h"

TEST(knows_how_a_level_differs_from_a_sum)
{
	assert_int_equal(profile_type_get("ebpf:cpu:nanoseconds")->aggregation,
			 PROFILE_AGGREGATION_SUM);
	assert_true(profile_type_get("ebpf:cpu:nanoseconds")->node_agent);
	assert_int_equal(profile_type_get("go:heap_inuse_space:bytes")->aggregation,
			 PROFILE_AGGREGATION_AVG);
	assert_false(profile_type_get("go:heap_inuse_space:bytes")->node_agent);
}

TEST(an_unknown_type_is_summed)
{
	assert_null(profile_type_find("my:own:things"));
	assert_int_equal(profile_type_get("my:own:things")->aggregation, PROFILE_AGGREGATION_SUM);
	assert_string_equal(profile_type_get("my:own:things")->category, "");
}

TEST(the_unit_is_the_third_part)
{
	assert_string_equal(profile_type_unit("ebpf:cpu:nanoseconds"), "nanoseconds");
	assert_string_equal(profile_type_unit("a:b:c:d"), "c:d");
	assert_string_equal(profile_type_unit("a:b"), "");
	assert_string_equal(profile_type_unit(""), "");
}

TEST(every_type_is_complete_and_listed_once)
{
	size_t n;
	const struct profile_type *types = profile_types(&n);

	assert_int_equal(n, 91);
	for (size_t i = 0; i < n; i++) {
		assert_ptr_equal(profile_type_find(types[i].type), &types[i]);
		assert_true(strlen(types[i].title) > 0);
		assert_true(strlen(profile_type_unit(types[i].type)) > 0);
	}
}
