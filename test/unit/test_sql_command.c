#include "cluster-agent/sql/sql_command.h"
#include "test/lib/unit.h"

TEST(knows_what_tools_send)
{
	static const struct {
		const char *sql;
		enum sql_command_kind kind;
		const char *query_id;
	} cases[] = {
		{"SET readonly=1", SQL_COMMAND_NOTHING, ""},
		{" set\tREADONLY = 2 ;\n", SQL_COMMAND_NOTHING, ""},
		{"SET ROLE NONE", SQL_COMMAND_NOTHING, ""},
		{"SET ROLE default", SQL_COMMAND_NOTHING, ""},
		{"USE coroot", SQL_COMMAND_NOTHING, ""},
		{"USE `coroot`", SQL_COMMAND_NOTHING, ""},
		{"USE \"default\";", SQL_COMMAND_NOTHING, ""},
		{"KILL QUERY WHERE query_id = 'a-b'", SQL_COMMAND_KILL, "a-b"},
		{"KILL QUERY WHERE query_id='x y' SYNC;", SQL_COMMAND_KILL, "x y"},
		{"kill query where query_id='a' async", SQL_COMMAND_KILL, "a"},
		/* all others are for the guard */
		{"", SQL_COMMAND_NONE, ""},
		{"SET", SQL_COMMAND_NONE, ""},
		{"SET readonly=0", SQL_COMMAND_NONE, ""},
		{"SET readonly=1, max_threads=2", SQL_COMMAND_NONE, ""},
		{"SET readonly=10", SQL_COMMAND_NONE, ""},
		{"SET ROLE owner", SQL_COMMAND_NONE, ""},
		{"SET readonly=1; SELECT 1", SQL_COMMAND_NONE, ""},
		{"USE system", SQL_COMMAND_NONE, ""},
		{"USE corootx", SQL_COMMAND_NONE, ""},
		{"USE `coroot\"", SQL_COMMAND_NONE, ""},
		{"KILL QUERY WHERE 1", SQL_COMMAND_NONE, ""},
		{"KILL QUERY WHERE query_id = ''", SQL_COMMAND_NONE, ""},
		{"KILL QUERY WHERE query_id = 'a' OR 1", SQL_COMMAND_NONE, ""},
		{"KILL QUERY WHERE query_id = 'a\\'b'", SQL_COMMAND_NONE, ""},
		{"KILL QUERY WHERE query_id = 'a", SQL_COMMAND_NONE, ""},
		{"KILL MUTATION WHERE query_id = 'a'", SQL_COMMAND_NONE, ""},
		{"SELECT 1", SQL_COMMAND_NONE, ""},
	};

	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		struct sql_command c;

		sql_command_parse(cases[i].sql, strlen(cases[i].sql), &c);
		if (c.kind != cases[i].kind || strcmp(c.query_id, cases[i].query_id) != 0)
			fail_msg("%s: %d '%s'", cases[i].sql, (int)c.kind, c.query_id);
	}
}

TEST(an_id_has_a_limit)
{
	char sql[SQL_QUERY_ID_BYTES + 64], id[SQL_QUERY_ID_BYTES + 1];
	struct sql_command c;

	for (size_t len = SQL_QUERY_ID_BYTES - 1; len <= SQL_QUERY_ID_BYTES; len++) {
		memset(id, 'x', len);
		id[len] = '\0';
		snprintf(sql, sizeof(sql), "KILL QUERY WHERE query_id = '%s'", id);
		sql_command_parse(sql, strlen(sql), &c);
		assert_int_equal(c.kind,
				 len < SQL_QUERY_ID_BYTES ? SQL_COMMAND_KILL : SQL_COMMAND_NONE);
	}
}
