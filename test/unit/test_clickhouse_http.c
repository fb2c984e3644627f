#include <errno.h>

#include "cluster-agent/sql/clickhouse_http.h"
#include "test/lib/unit.h"

static void recognizes_loopback_addresses(void **state)
{
	static const char *const yes[] = {"127.0.0.1:8123", "127.1.2.3:0", "[::1]:8123",
					  "localhost:8123"};
	static const char *const no[] = {":8123",
					 "0.0.0.0:8123",
					 "[::]:8123",
					 "10.0.0.1:8123",
					 "localhost.evil.com:8123",
					 "127.0.0.1",
					 "128.0.0.1:8123",
					 "[fe80::1]:8123",
					 "",
					 "127.0.0.1.evil:1"};

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(yes); i++)
		assert_true(clickhouse_is_loopback(yes[i]));
	for (size_t i = 0; i < ARRAY_SIZE(no); i++)
		assert_false(clickhouse_is_loopback(no[i]));
}

static void reads_the_password_of_basic_authorization(void **state)
{
	static const struct {
		const char *header;
		const char *password; /* NULL: refused */
	} cases[] = {
		{"Basic ZGVmYXVsdDpzZWNyZXQ=", "secret"}, /* default:secret */
		{"basic OmE6Yg==", "a:b"},                /* :a:b */
		{"Basic OnNlY3JldA", "secret"},           /* without padding */
		{"Basic c2VjcmV0", NULL},                 /* no colon */
		{"Basic Z!!", NULL},
		{"Basic OgBh", NULL}, /* a zero byte */
		{"Basic ", NULL},
		{"Bearer abc", NULL},
	};
	char password[CLICKHOUSE_PASSWORD_BYTES + 1];
	char big[6 + 2000 + 1];

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		int r = clickhouse_basic_password(cases[i].header, password);

		assert_int_equal(r, cases[i].password ? 0 : -EINVAL);
		if (r == 0)
			assert_string_equal(password, cases[i].password);
	}
	memset(big, 'A', sizeof(big));
	memcpy(big, "Basic ", 6);
	big[sizeof(big) - 1] = '\0';
	assert_int_equal(clickhouse_basic_password(big, password), -EFBIG);
}

static void maps_codes_and_formats(void **state)
{
	(void)state;
	assert_int_equal(clickhouse_status(62), 400);
	assert_int_equal(clickhouse_status(60), 404);
	assert_int_equal(clickhouse_status(516), 401);
	assert_int_equal(clickhouse_status(241), 500);
	assert_int_equal(clickhouse_status(4711), 500);
	assert_string_equal(clickhouse_code_name(62), "SYNTAX_ERROR");
	assert_null(clickhouse_code_name(4711));
	assert_string_equal(clickhouse_content_type("JSONEachRow"),
			    "application/json; charset=UTF-8");
	assert_string_equal(clickhouse_content_type("CSVWithNames"),
			    "text/csv; charset=UTF-8; header=present");
	assert_string_equal(clickhouse_content_type("Pretty"), "text/plain; charset=UTF-8");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(recognizes_loopback_addresses),
		cmocka_unit_test(reads_the_password_of_basic_authorization),
		cmocka_unit_test(maps_codes_and_formats),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
