#include <errno.h>

#include "cluster-agent/store/engine_config.h"
#include "cluster-agent/store/store.h"
#include "common/limits.h"
#include "test/lib/unit.h"

TEST(a_container_has_room_for_the_agent_and_the_engine)
{
	static const uint64_t sizes[] = {512, 768, 1024, 2048, 4096, 65536};

	for (size_t i = 0; i < ARRAY_SIZE(sizes); i++) {
		uint64_t limit = sizes[i] * MIB;
		struct engine_memory m = engine_memory_of(limit);

		assert_true(m.total_bytes + 256 * MIB <= limit);
		assert_true(m.total_bytes <= 1024 * MIB);
		assert_true(m.query_bytes <= STORE_QUERY_MEMORY_BYTES);
		/* one query cannot take all */
		assert_true(m.query_bytes * 2 <= m.total_bytes);
	}
	assert_int_equal(engine_memory_of(UINT64_MAX).query_bytes, STORE_QUERY_MEMORY_BYTES);
}

TEST(little_memory_gives_little_and_not_none)
{
	assert_true(engine_memory_of(0).query_bytes >= 32 * MIB);
	assert_true(engine_memory_of(64 * MIB).query_bytes >= 32 * MIB);
}

TEST(any_path_is_valid_xml)
{
	const struct engine_memory m = engine_memory_of(768 * MIB);
	CLEANUP(buf_fini) struct buf out;

	buf_init(&out, 100000);
	assert_int_equal(engine_config_format(&out, "/a<b/engine.xml", "/a<b>&\"c'/tmp", &m), 0);
	assert_int_equal(buf_add(&out, "", 1), 0);
	assert_non_null(
		strstr(out.data, "<tmp_path>/a&#60;b&#62;&#38;&#34;c&#39;/tmp/</tmp_path>"));
	assert_non_null(strstr(out.data, "<max_server_memory_usage>268435456<"));
	assert_non_null(strstr(out.data, "<users_config>/a&#60;b/engine.xml</users_config>"));
}

TEST(config_is_bounded_by_its_buffer)
{
	const struct engine_memory m = engine_memory_of(0);

	for (size_t limit = 1; limit < 400; limit += 7) {
		CLEANUP(buf_fini) struct buf out;

		buf_init(&out, limit);
		assert_true(engine_config_format(&out, "/data/engine.xml", "/data/tmp", &m) < 0);
	}
}

TEST(values_of_settings_are_quoted)
{
	static const struct store_setting settings[] = {
		{"join_use_nulls", "1"},
		{"format_csv_null_representation", "\\N'"},
	};
	static const struct store_setting bad[] = {{"a = 1, b", "1"}, {"", "1"}};
	CLEANUP(buf_fini) struct buf sql;

	buf_init(&sql, 1000);
	assert_int_equal(engine_config_clause(&sql, settings, 0), 0);
	assert_int_equal(sql.len, 0);
	assert_int_equal(engine_config_clause(&sql, settings, ARRAY_SIZE(settings)), 0);
	assert_string_equal(sql.data, "\nSETTINGS join_use_nulls = '1', "
				      "format_csv_null_representation = '\\\\N\\''");
	for (size_t i = 0; i < ARRAY_SIZE(bad); i++)
		assert_int_equal(engine_config_clause(&sql, &bad[i], 1), -EINVAL);
}
