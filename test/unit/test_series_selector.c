#include <errno.h>

#include "cluster-agent/query/read/label_sql.h"
#include "cluster-agent/query/read/series_query.h"
#include "test/lib/unit.h"

static struct series_selector selector;

TEST(conditions_are_parted_by_what_decides_them)
{
	assert_int_equal(
		series_selector_parse(&selector,
				      "{pod=\"a\", service_name=~\"b.*\", host_name!=\"c\", "
				      "__profile_type__=\"d\", profiler!~\"e\"}",
				      NULL),
		0);
	assert_int_equal(selector.labels.n_items, 2);
	assert_string_equal(selector.labels.items[0].name, "pod");
	assert_string_equal(selector.labels.items[1].name, "host_name");
	assert_int_equal(selector.labels.items[1].op, LABEL_NOT_EQUAL);
	assert_int_equal(selector.series.n_items, 3);
	assert_string_equal(selector.series.items[0].name, "service_name");
	assert_int_equal(selector.series.items[0].op, LABEL_MATCHES);
	assert_string_equal(selector.series.items[2].value, "e");
}

TEST(an_empty_selector_has_no_conditions)
{
	assert_int_equal(series_selector_parse(&selector, "{}", NULL), 0);
	assert_int_equal(selector.labels.n_items + selector.series.n_items, 0);
	assert_int_equal(series_selector_parse(&selector, "", NULL), 0);
	assert_int_equal(series_selector_parse(&selector, "{pod}", NULL), -EINVAL);
}

TEST(a_type_may_stand_in_front)
{
	assert_int_equal(series_selector_parse(&selector, "a:b:c:d:e{pod=\"x\"}", NULL), 0);
	assert_int_equal(selector.labels.n_items, 1);
	assert_int_equal(selector.series.n_items, 1);
	assert_string_equal(selector.series.items[0].name, "__profile_type__");
	assert_string_equal(selector.series.items[0].value, "a:b:c:d:e");
	assert_int_equal(series_selector_parse(&selector, "process_cpu", NULL), 0);
	assert_string_equal(selector.series.items[0].name, "__name__");
	/* no braces are needed around conditions, either */
	assert_int_equal(series_selector_parse(&selector, "pod=\"x\"", NULL), 0);
	assert_int_equal(selector.series.n_items, 0);
	assert_int_equal(series_selector_parse(&selector, "a b{}", NULL), -EINVAL);
}

TEST(names_become_what_prometheus_allows)
{
	char name[] = "k8s.pod-name/\xc3\xa9_1";
	bool series;

	label_sql_plain_name(name, strlen(name));
	assert_string_equal(name, "k8s_pod_name____1");
	assert_string_equal(label_sql("service_name", &series), "ServiceName");
	assert_true(series);
	assert_string_equal(label_sql("version", &series), "Labels[{@:String}]");
	assert_false(series);
	/* it may be another label's name with other characters */
	assert_non_null(strstr(label_sql("host_name", &series), "replaceRegexpAll"));
}
