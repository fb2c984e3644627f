#include "cluster-agent/store/clickhouse_request.h"

#include <errno.h>

#include "test/lib/unit.h"

TEST(everything_is_encoded)
{
	const struct clickhouse_setting settings[] = {{"readonly", "1"}};
	const struct store_param params[] = {{"name", "a&b=c \n\\'\"\xc3\xa4"}, {"n", "7"}};
	const struct clickhouse_statement st = {
		.sql = "SELECT 1",
		.database = "d-1",
		.format = "TSV",
		.settings = settings,
		.n_settings = 1,
		.params = params,
		.n_params = 2,
	};
	CLEANUP(buf_fini) struct buf url;

	buf_init(&url, 10000);
	assert_int_equal(clickhouse_request_url(&st, "http://ch:1/x", "id", &url), 0);
	assert_string_equal(url.data,
			    "http://ch:1/x?query_id=id&database=d-1&default_format=TSV&readonly=1"
			    "&param_name=a%26b%3Dc%20%0A%5C%27%22%C3%A4&param_n=7");
}

TEST(the_sql_of_rows_is_in_the_url)
{
	const struct store_frame frame = {.len = 1};
	const struct clickhouse_statement st = {
		.sql = "INSERT INTO t FORMAT RowBinary", .frames = &frame, .n_frames = 1};
	CLEANUP(buf_fini) struct buf url;

	buf_init(&url, 10000);
	assert_int_equal(clickhouse_request_url(&st, "http://ch:1/", "id", &url), 0);
	assert_string_equal(
		url.data, "http://ch:1/?query_id=id&query=INSERT%20INTO%20t%20FORMAT%20RowBinary");
}

TEST(long_parameters_need_a_form)
{
	char text[5001];
	const struct store_param params[] = {{"name", text}};
	const struct clickhouse_statement st = {.sql = "SELECT 1", .params = params, .n_params = 1};
	CLEANUP(buf_fini) struct buf url;

	buf_init(&url, 10000);
	memset(text, 'x', sizeof(text) - 1);
	text[sizeof(text) - 1] = '\0';
	assert_true(clickhouse_request_needs_form(&st));
	assert_int_equal(clickhouse_request_url(&st, "http://ch:1/", "id", &url), 0);
	assert_string_equal(url.data, "http://ch:1/?query_id=id");
	text[100] = '\0';
	assert_false(clickhouse_request_needs_form(&st));
}

TEST(names_of_parameters_cannot_break_out)
{
	static const char *const bad[] = {"", "a&b", "a=b", "a b", "\xc3"};

	for (size_t i = 0; i < ARRAY_SIZE(bad); i++) {
		const struct store_param params[] = {{bad[i], "x"}};
		const struct clickhouse_statement st = {
			.sql = "SELECT 1", .params = params, .n_params = 1};
		CLEANUP(buf_fini) struct buf url;

		buf_init(&url, 10000);
		assert_int_equal(clickhouse_request_url(&st, "http://ch:1/", "id", &url), -EINVAL);
	}
}
