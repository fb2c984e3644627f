#include "cluster-agent/sql/clickhouse_http.h"
#include "test/lib/unit.h"

TEST(maps_codes_and_formats)
{
	assert_int_equal(clickhouse_status(62), 400);
	assert_int_equal(clickhouse_status(60), 404);
	assert_int_equal(clickhouse_status(516), 401);
	assert_int_equal(clickhouse_status(241), 500);
	assert_int_equal(clickhouse_status(4711), 500);
	assert_string_equal(clickhouse_code_name(62), "SYNTAX_ERROR");
	assert_null(clickhouse_code_name(4711));
}
