#include <errno.h>

#include "cluster-agent/sql/sql_settings.h"
#include "test/lib/unit.h"

TEST(passes_checks_lowers_ignores_and_refuses)
{
	static const struct {
		const char *name;
		const char *value;
		int r;
		const char *expected;
	} cases[] = {
		{"join_use_nulls", "1", 1, "1"},
		{"join_use_nulls", "TRUE", 1, "TRUE"},
		{"join_use_nulls", "2", -EINVAL, NULL},
		{"join_use_nulls", "", -EINVAL, NULL},
		{"max_result_rows", "5000", 1, "5000"},
		{"max_result_rows", "-1", -EINVAL, NULL},
		{"max_result_rows", "1, readonly=0", -EINVAL, NULL},
		{"max_execution_time", "7", 1, "7"},
		{"max_execution_time", "0", 1, "30"},
		{"max_execution_time", "3600", 1, "30"},
		{"max_execution_time", "99999999999999999999999", 1, "30"},
		{"max_execution_time", "-5", -EINVAL, NULL},
		{"max_execution_time", "", -EINVAL, NULL},
		{"max_threads", "64", 0, NULL},
		{"session_timezone", "Europe/Berlin", 1, "Europe/Berlin"},
		{"session_timezone", "Etc/GMT+5", 1, "Etc/GMT+5"},
		{"session_timezone", "/etc/passwd", -EINVAL, NULL},
		{"session_timezone", "../../etc/passwd", -EINVAL, NULL},
		{"session_timezone", "a' , readonly = '0", -EINVAL, NULL},
		{"format_csv_delimiter", "\t", 1, "\t"},
		{"format_csv_null_representation", "\\N", 1, "\\N"},
		{"format_csv_null_representation", "\n", -EINVAL, NULL},
		{"format_csv_null_representation",
		 "0123456789012345678901234567890123456789012345678901234567890123", -EINVAL, NULL},
		{"readonly", "0", 0, NULL},
		{"max_memory_usage", "0", 0, NULL},
		{"send_progress_in_http_headers", "1", 0, NULL},
		{"session_id", "x", 0, NULL},
		{"param_x", "x", 0, NULL},
		{"query", "SELECT 1", 0, NULL},
		{"format_schema", "x", -EPERM, NULL},
		{"output_format_schema", "x", -EPERM, NULL},
		{"format_template_row", "/etc/passwd", -EPERM, NULL},
		{"Join_use_nulls", "1", -EPERM, NULL},
		{"no_such_setting", "1", -EPERM, NULL},
		{"", "1", -EPERM, NULL},
	};

	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		struct sql_setting s;
		struct err err = {0};
		int r = sql_setting_check(cases[i].name, cases[i].value, &s, &err);

		if (r != cases[i].r)
			fail_msg("%s=%s: %d %s", cases[i].name, cases[i].value, r, err.msg);
		if (r == 1) {
			assert_string_equal(s.name, cases[i].name);
			assert_string_equal(s.value, cases[i].expected);
		}
		assert_true((r < 0) == (err.msg[0] != '\0'));
	}
}

TEST(finds_every_setting_of_its_list)
{
	size_t n = 0;

	for (const char *name; (name = sql_setting_at(n)); n++) {
		struct sql_setting s;
		int r = sql_setting_check(name, "1", &s, NULL);

		assert_true(r == 0 || r == 1);
		if (r == 1)
			assert_string_equal(s.name, name);
	}
	assert_true(n > 100);
}
