#include "cluster-agent/sql/clickhouse_http.h"

struct known_code {
	int code;
	unsigned status;
	const char *name;
};

/*
 * Statuses are those of ClickHouse, except for those that tell a client more than its 500: an
 * answer of 503 is tried again by some.
 */
static const struct known_code known_codes[] = {
	{6, 400, "CANNOT_PARSE_TEXT"},
	{8, 400, "THERE_IS_NO_COLUMN"},
	{15, 400, "DUPLICATE_COLUMN"},
	{16, 404, "NO_SUCH_COLUMN_IN_TABLE"},
	{25, 400, "CANNOT_PARSE_ESCAPE_SEQUENCE"},
	{26, 400, "CANNOT_PARSE_QUOTED_STRING"},
	{27, 400, "CANNOT_PARSE_INPUT_ASSERTION_FAILED"},
	{36, 400, "BAD_ARGUMENTS"},
	{38, 400, "CANNOT_PARSE_DATE"},
	{41, 400, "CANNOT_PARSE_DATETIME"},
	{42, 400, "NUMBER_OF_ARGUMENTS_DOESNT_MATCH"},
	{43, 400, "ILLEGAL_TYPE_OF_ARGUMENT"},
	{44, 400, "ILLEGAL_COLUMN"},
	{46, 404, "UNKNOWN_FUNCTION"},
	{47, 404, "UNKNOWN_IDENTIFIER"},
	{48, 501, "NOT_IMPLEMENTED"},
	{50, 404, "UNKNOWN_TYPE"},
	{53, 400, "TYPE_MISMATCH"},
	{56, 404, "UNKNOWN_STORAGE"},
	{60, 404, "UNKNOWN_TABLE"},
	{62, 400, "SYNTAX_ERROR"},
	{63, 404, "UNKNOWN_AGGREGATE_FUNCTION"},
	{69, 400, "ARGUMENT_OUT_OF_BOUND"},
	{72, 400, "CANNOT_PARSE_NUMBER"},
	{73, 404, "UNKNOWN_FORMAT"},
	{81, 404, "UNKNOWN_DATABASE"},
	{89, 400, "UNKNOWN_COMPRESSION_METHOD"},
	{115, 404, "UNKNOWN_SETTING"},
	{117, 400, "INCORRECT_DATA"},
	{152, 404, "UNKNOWN_DIRECTION_OF_SORTING"},
	{159, 408, "TIMEOUT_EXCEEDED"},
	{160, 408, "TOO_SLOW"},
	{164, 403, "READONLY"},
	{167, 400, "TOO_DEEP_AST"},
	{168, 400, "TOO_BIG_AST"},
	{192, 403, "UNKNOWN_USER"},
	{193, 403, "WRONG_PASSWORD"},
	{194, 401, "REQUIRED_PASSWORD"},
	{202, 503, "TOO_MANY_SIMULTANEOUS_QUERIES"},
	{209, 503, "SOCKET_TIMEOUT"},
	{241, 500, "MEMORY_LIMIT_EXCEEDED"},
	{271, 400, "CANNOT_DECOMPRESS"},
	{291, 403, "DATABASE_ACCESS_DENIED"},
	{321, 400, "VALUE_IS_OUT_OF_RANGE_OF_DATA_TYPE"},
	{376, 400, "CANNOT_PARSE_UUID"},
	{394, 500, "QUERY_WAS_CANCELLED"},
	{396, 500, "TOO_MANY_ROWS_OR_BYTES"},
	{427, 400, "CANNOT_COMPILE_REGEXP"},
	{439, 503, "CANNOT_SCHEDULE_TASK"},
	{441, 400, "CANNOT_PARSE_DOMAIN_VALUE_FROM_STRING"},
	{452, 400, "SETTING_CONSTRAINT_VIOLATION"},
	{456, 400, "UNKNOWN_QUERY_PARAMETER"},
	{457, 400, "BAD_QUERY_PARAMETER"},
	{497, 403, "ACCESS_DENIED"},
	{511, 404, "UNKNOWN_ROLE"},
	{512, 403, "SET_NON_GRANTED_ROLE"},
	{516, 401, "AUTHENTICATION_FAILED"},
	{675, 400, "CANNOT_PARSE_IPV4"},
	{676, 400, "CANNOT_PARSE_IPV6"},
	{1001, 500, "STD_EXCEPTION"},
};

static const struct known_code *find_code(int code)
{
	for (size_t i = 0; i < ARRAY_SIZE(known_codes); i++) {
		if (known_codes[i].code == code)
			return &known_codes[i];
	}
	return NULL;
}

unsigned clickhouse_status(int exception_code)
{
	const struct known_code *c = find_code(exception_code);

	return c ? c->status : 500;
}

const char *clickhouse_code_name(int exception_code)
{
	const struct known_code *c = find_code(exception_code);

	return c ? c->name : NULL;
}
