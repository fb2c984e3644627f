#include "cluster-agent/store/clickhouse_settings.h"
#include "test/lib/unit.h"

static const char *value_of(struct clickhouse_settings *s, enum clickhouse_purpose purpose,
			    const char *token, const char *name)
{
	struct clickhouse_setting list[CLICKHOUSE_MAX_SETTINGS];
	size_t n = clickhouse_settings_get(s, purpose, token, list);

	assert_true(n < CLICKHOUSE_MAX_SETTINGS);
	for (size_t i = 0; i < n; i++) {
		if (strcmp(list[i].name, name) == 0)
			return list[i].value;
	}
	return "";
}

TEST(each_purpose_has_its_own)
{
	struct clickhouse_settings s = {0};

	assert_string_equal(value_of(&s, CLICKHOUSE_FOR_QUERY, NULL, "readonly"), "1");
	assert_string_equal(value_of(&s, CLICKHOUSE_FOR_INSERT, "ab", "readonly"), "");
	assert_string_equal(value_of(&s, CLICKHOUSE_FOR_INSERT, "ab", "insert_deduplication_token"),
			    "ab");
	assert_string_equal(value_of(&s, CLICKHOUSE_FOR_INSERT, "ab", "insert_deduplicate"), "1");
	assert_string_equal(value_of(&s, CLICKHOUSE_FOR_INSERT, NULL, "insert_deduplicate"), "0");
	assert_string_equal(value_of(&s, CLICKHOUSE_FOR_INSERT, NULL, "insert_deduplication_token"),
			    "");
	assert_string_equal(value_of(&s, CLICKHOUSE_FOR_SCHEMA, NULL, "wait_end_of_query"), "1");
	assert_string_equal(
		value_of(&s, CLICKHOUSE_FOR_SCHEMA, NULL, "distributed_ddl_task_timeout"), "10");
}

TEST(what_is_refused_is_left_out)
{
	struct clickhouse_settings s = {0};

	assert_true(clickhouse_settings_refuse(
		&s, "Code: 452. DB::Exception: Setting max_memory_usage shouldn't be greater than "
		    "1000. (SETTING_CONSTRAINT_VIOLATION)"));
	assert_string_equal(value_of(&s, CLICKHOUSE_FOR_QUERY, NULL, "max_memory_usage"), "");
	assert_string_equal(value_of(&s, CLICKHOUSE_FOR_QUERY, NULL, "max_result_bytes"),
			    "268435456");
	/* a part of another name is none */
	assert_false(clickhouse_settings_refuse(&s, "Unknown setting max_execution_time_leaf"));
	assert_true(clickhouse_settings_refuse(&s, "Unknown setting 'async_insert'"));
	assert_string_equal(value_of(&s, CLICKHOUSE_FOR_INSERT, "ab", "async_insert"), "");
	assert_string_equal(value_of(&s, CLICKHOUSE_FOR_INSERT, "ab", "wait_for_async_insert"),
			    "1");
}

TEST(what_keeps_queries_from_writing_is_never_left_out)
{
	struct clickhouse_settings s = {0};

	assert_false(clickhouse_settings_refuse(&s, "Cannot modify 'readonly' setting"));
	assert_string_equal(value_of(&s, CLICKHOUSE_FOR_QUERY, NULL, "readonly"), "1");
}
