#include <errno.h>

#include "cluster-agent/web/web_params.h"
#include "test/lib/unit.h"

#define NOW INT64_C(1700000000000)
#define MS INT64_C(1000000)

static void times_become_ns(void **state)
{
	const struct web_params_text text = {.from = "1699999990000", .to = "1700000000000"};
	struct query_request p;

	(void)state;
	assert_int_equal(web_params_parse(&p, &text, WEB_PARAMS_RANGE, NOW, NULL), 0);
	assert_true(p.filter.from_ns == (NOW - 10000) * MS && p.filter.to_ns == NOW * MS);
}

static void what_is_not_given_has_a_default(void **state)
{
	const struct web_params_text text = {0};
	struct query_request p;

	(void)state;
	assert_int_equal(web_params_parse(&p, &text, WEB_PARAMS_RANGE, NOW, NULL), 0);
	assert_true(p.filter.from_ns == (NOW - 3600000) * MS && p.filter.to_ns == NOW * MS);
	assert_int_equal(p.n_points, 300);
	assert_int_equal(p.max_nodes, 20000);
}

static void nonsense_is_refused_with_a_sentence(void **state)
{
	static const struct {
		struct web_params_text text;
		const char *reason;
	} cases[] = {
		{{.from = "x"}, "from is not a number from 0 to 7258118400000"},
		{{.from = "-1"}, "from is not a number from 0 to 7258118400000"},
		{{.to = "0"}, "to is not a number from 1 to 7258118400000"},
		{{.to = "7258118400001"}, "to is not a number from 1 to 7258118400000"},
		{{.from = "5", .to = "5"}, "from is not before to"},
		{{.from = "5", .to = "4"}, "from is not before to"},
		{{.from = "0"}, "the range is longer than 366 days"},
		{{.points = "0"}, "points is not a number from 1 to 5000"},
		{{.points = ""}, "points is not a number from 1 to 5000"},
		{{.max_nodes = "200001"}, "maxNodes is not a number from 1 to 200000"},
		{{.type = "a:b:c"}, "service is missing"},
		{{.service = "a", .type = ""}, "type is missing"},
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		struct web_params_text text = cases[i].text;
		struct query_request p;
		struct err err = {""};

		if (!text.service && !text.type)
			text.service = text.type = "x";
		assert_int_equal(web_params_parse(&p, &text, WEB_PARAMS_SERVICE_TYPE, NOW, &err),
				 -EINVAL);
		assert_string_equal(err.msg, cases[i].reason);
	}
}

static void texts_are_passed_on(void **state)
{
	const struct web_params_text text = {.service = "s", .type = "t", .instance = "i"};
	struct query_request p;

	(void)state;
	assert_int_equal(web_params_parse(&p, &text, WEB_PARAMS_SERVICE_TYPE, NOW, NULL), 0);
	assert_string_equal(p.filter.service, "s");
	assert_string_equal(p.filter.type, "t");
	assert_string_equal(p.filter.instance, "i");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(times_become_ns),
		cmocka_unit_test(what_is_not_given_has_a_default),
		cmocka_unit_test(nonsense_is_refused_with_a_sentence),
		cmocka_unit_test(texts_are_passed_on),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
