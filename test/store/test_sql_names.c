/*
 * Every function, table function, format and setting of the engine has been judged: it is allowed
 * by the lists of cluster-agent/sql/, or it is in a list of test/data/sql/, and the guard refuses
 * it. A name that a new release of the engine brings is in neither, and fails a test: find out what
 * it can do, then add it to one of the two.
 */
#include <errno.h>

#include "cluster-agent/sql/sql_formats.h"
#include "cluster-agent/sql/sql_functions.h"
#include "cluster-agent/sql/sql_guard.h"
#include "cluster-agent/store/system_tables.h"
#include "test/lib/unit.h"
#include "test/store/sql_fixture.h"

/* The lines of a file, each between two newlines. */
static char *read_list(const char *name)
{
	char path[100], *text;
	size_t n;
	FILE *f;

	snprintf(path, sizeof(path), "test/data/sql/%s", name);
	f = fopen(path, "re");
	if (!f)
		fail_msg("%s: %s", path, strerror(errno));
	text = calloc(1, 1 << 20);
	assert_non_null(text);
	text[0] = '\n';
	n = fread(text + 1, 1, (1 << 20) - 2, f);
	assert_true(n > 0 && n < (1 << 20) - 2);
	fclose(f);
	return text;
}

static bool has_line(const char *text, const char *line)
{
	char wanted[200];

	snprintf(wanted, sizeof(wanted), "\n%s\n", line);
	return strstr(text, wanted);
}

typedef bool (*is_allowed_fn)(const char *name);

/*
 * sql lists what the engine has. Returns how many there are; fails for names that are in both lists
 * or in none, and for such as the engine does not have any more.
 */
static size_t compare(const char *sql, const char *list, is_allowed_fn is_allowed)
{
	CLEANUP(answer_fini) struct answer a;
	AUTO_FREE char *refused = read_list(list);
	AUTO_FREE char *all = NULL;
	size_t n = 0;

	ask(&a, "/", sql, NULL);
	if (a.status != 200 || asprintf(&all, "\n%s", a.body.data) < 0)
		fail_msg("%s: %s", sql, a.body.data);
	for (char *name = a.body.data, *end; (end = strchr(name, '\n')); name = end + 1, n++) {
		*end = '\0';
		if (is_allowed(name) && has_line(refused, name))
			fail_msg("%s is allowed, and in %s", name, list);
		if (!is_allowed(name) && !has_line(refused, name))
			fail_msg("%s is neither allowed nor in %s", name, list);
	}
	for (char *name = refused + 1, *end; (end = strchr(name, '\n')); name = end + 1) {
		*end = '\0';
		if (!has_line(all, name))
			fail_msg("%s of %s: the engine has none", name, list);
	}
	return n;
}

/* form has the name as "?". */
static bool passes(const char *form, const char *name)
{
	struct sql_facts facts;
	const char *mark = strchr(form, '?');
	char sql[300];
	int r;

	assert_non_null(mark);
	snprintf(sql, sizeof(sql), "%.*s%s%s", (int)(mark - form), form, name, mark + 1);
	r = sql_guard_check(sql, strlen(sql), &facts, NULL);
	assert_true(r == 0 || r == -EPERM);
	return r == 0;
}

/* In all ways of calling it, or in none. */
static bool is_allowed_function(const char *name)
{
	static const char *const forms[] = {
		"SELECT ?(1)",
		"SELECT 1 + ? /**/ (x)",
		"SELECT * APPLY(?) FROM t",
		"SELECT * APPLY ? FROM t",
		"SELECT arrayMap(?, x)",
		"SELECT arrayMap(ALL ?, x)",
		"SELECT arrayMap(((`?`)), x)",
		"WITH ?(1)(2) AS x SELECT x",
	};
	bool allowed = sql_function_is_allowed(name, strlen(name));
	char other[100];

	for (size_t i = 0; i < ARRAY_SIZE(forms); i++) {
		if (passes(forms[i], name) != allowed)
			fail_msg("%s: %s", name, forms[i]);
	}
	for (size_t i = 0; i <= strlen(name); i++)
		other[i] = name[i] >= 'a' && name[i] <= 'z' ? (char)(name[i] - 32) : name[i];
	assert_int_equal(passes(forms[0], other), allowed);
	return allowed;
}

TEST(every_function_is_allowed_or_refused)
{
	assert_true(compare("SELECT name FROM system.functions", "refused-functions",
			    is_allowed_function) > 1500);
}

static bool is_allowed_table_function(const char *name)
{
	return passes("SELECT * FROM ?(1)", name) || passes("DESCRIBE TABLE ?(1)", name);
}

TEST(every_table_function_is_allowed_or_refused)
{
	assert_true(compare("SELECT name FROM system.table_functions", "refused-table-functions",
			    is_allowed_table_function) > 50);
}

static bool is_allowed_format(const char *name)
{
	bool allowed = sql_format_find(name, strlen(name)) != NULL;

	assert_int_equal(passes("SELECT 1 FORMAT ?", name), allowed);
	return allowed;
}

TEST(every_format_is_allowed_or_refused)
{
	assert_true(compare("SELECT name FROM system.formats WHERE is_output", "refused-formats",
			    is_allowed_format) > 50);
}

TEST(content_types_are_those_of_the_engine)
{
	CLEANUP(answer_fini) struct answer a;
	size_t n = 0;

	ask(&a, "/", "SELECT name, content_type FROM system.formats WHERE is_output", NULL);
	assert_int_equal(a.status, 200);
	for (char *name = a.body.data, *end; (end = strchr(name, '\n')); name = end + 1) {
		char *type = strchr(name, '\t');
		const struct sql_format *format;

		*end = *type++ = '\0';
		format = sql_format_find(name, strlen(name));
		if (!format)
			continue;
		assert_string_equal(format->content_type, type);
		n++;
	}
	assert_true(n > 50);
}

/* Whatever is ignored or passed on with some value is not refused. */
static bool is_allowed_setting(const char *name)
{
	struct sql_setting setting;

	return sql_setting_check(name, "1", &setting, NULL) != -EPERM;
}

TEST(every_setting_is_allowed_or_refused)
{
	assert_true(compare("SELECT name FROM system.settings", "refused-settings",
			    is_allowed_setting) > 1000);
}

TEST(the_engine_has_every_setting_that_is_allowed)
{
	CLEANUP(answer_fini) struct answer a;

	ask(&a, "/", "SELECT name FROM system.settings", NULL);
	for (size_t i = 0; sql_setting_at(i); i++) {
		if (!has_line(a.body.data, sql_setting_at(i)))
			fail_msg("%s", sql_setting_at(i));
	}
}

static bool is_public_table(const char *name)
{
	assert_int_equal(passes("SELECT * FROM system.?", name),
			 system_table_is_public(name, strlen(name)));
	return system_table_is_public(name, strlen(name));
}

TEST(of_system_only_harmless_tables_are_there)
{
	CLEANUP(answer_fini) struct answer a;
	size_t n = 0, expected = 0;

	for (size_t i = 0; system_table_at(i); i++)
		expected += system_table_at(i)->kind == SYSTEM_TABLE_PUBLIC;
	ask(&a, "/", "SHOW TABLES FROM system", NULL);
	assert_int_equal(a.status, 200);
	for (char *name = a.body.data, *end; (end = strchr(name, '\n')); name = end + 1, n++) {
		*end = '\0';
		if (!is_public_table(name))
			fail_msg("%s can be seen", name);
	}
	assert_int_equal(n, expected);
}

int main(void)
{
	if (!getenv("CHDB_LIBRARY")) {
		fprintf(stderr, "CHDB_LIBRARY is not set\n");
		return 1;
	}
	return unit_run(sql_fixture_start, sql_fixture_stop);
}
