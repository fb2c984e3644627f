#include <errno.h>

#include "cluster-agent/pyroscope/render_params.h"
#include "test/lib/unit.h"

#define NOW INT64_C(1700000000000)
#define CPU "process_cpu:cpu:nanoseconds:cpu:nanoseconds"

static int64_t time_of(const char *text)
{
	int64_t ms = 0;

	assert_int_equal(render_time_parse(text, NOW, &ms), 0);
	return ms;
}

TEST(times_are_relative_or_of_any_length)
{
	assert_true(time_of("now") == NOW);
	assert_true(time_of("now-90s") == NOW - 90000);
	assert_true(time_of("now-2h") == NOW - 7200000);
	assert_true(time_of("now-1w") == NOW - INT64_C(604800000));
	assert_true(time_of("1700000001") == NOW + 1000);
	assert_true(time_of("1700000000001") == NOW + 1);
	assert_true(time_of("1700000000001000") == NOW + 1);
	assert_true(time_of("1700000000001000000") == NOW + 1);
}

TEST(other_texts_are_no_times)
{
	static const char *const texts[] = {"",        "yesterday",
					    "now-",    "now-1",
					    "now-1x",  "now-1hh",
					    "now+1h",  "-5",
					    "now-99y", "1e12",
					    " now",    "99999999999999999999",
					    "now-h",   "12345678901234567890123"};
	int64_t ms;

	for (size_t i = 0; i < ARRAY_SIZE(texts); i++)
		assert_int_equal(render_time_parse(texts[i], NOW, &ms), -EINVAL);
}

TEST(a_query_is_a_type_and_a_selector)
{
	struct render_query q;

	assert_int_equal(render_query_parse(&q, CPU "{pod=\"a\"}", NULL), 0);
	assert_string_equal(q.type_id, CPU);
	assert_string_equal(q.selector, "{pod=\"a\"}");
	assert_int_equal(render_query_parse(&q, "a:b:c", NULL), 0);
	assert_string_equal(q.type_id, "a:b:c");
	assert_string_equal(q.selector, "");
}

TEST(the_selector_may_name_the_type)
{
	struct render_query q;
	struct err err = {""};

	assert_int_equal(render_query_parse(&q, "{pod=\"a\", __profile_type__=\"" CPU "\"}", &err),
			 0);
	assert_string_equal(q.type_id, CPU);
	assert_int_equal(render_query_parse(&q, "{pod=\"a\"}", &err), -EINVAL);
	assert_string_equal(err.msg, "the query names no profile type");
	assert_int_equal(render_query_parse(&q, "{pod=", &err), -EINVAL);
}
