#include "node-agent/workload/name_rules.h"

#include <errno.h>

#include "test/lib/unit.h"

static void check(const char *lines, const char *subject, const char *want)
{
	CLEANUP(name_rules_unrefp) struct name_rules *r = NULL;
	struct err err = {""};
	char name[64] = "none";

	assert_int_equal(name_rules_new(&r, lines, &err), 0);
	assert_true(name_rules_apply(r, subject, name, sizeof(name)) == (want != NULL));
	if (want)
		assert_string_equal(name, want);
}

TEST(the_first_rule_that_matches_names)
{
	check("^/opt/acme/=/acme", "/opt/acme/bin/x", "/acme");
	check("^/opt/acme/=acme", "/opt/acme/bin/x", "/process/acme");
	check("nothing=a\nbin=b\nbin/x=c", "/opt/acme/bin/x", "/process/b");
	check("/opt/([^/]+)/bin/(.*)=/\\1/\\2", "/opt/acme/bin/x", "/acme/x");
	check("python3[.0-9]* (.*)\\.py=/jobs/\\1", "/usr/bin/python3.11 nightly.py",
	      "/jobs/nightly");
	check("A=B=c", "A=B", "/process/c");
	check("x=a\\\\b", "x", "/process/a\\b");
	check("x=a\\", "x", "/process/a\\");
	check("^y=z", "xy", NULL);
	check("", "x", NULL);
	check(NULL, "x", NULL);
	check("\n\n", "x", NULL);
	/* a rule that gives no name is passed over */
	check("x(y?)=\\1\nx=z", "x", "/process/z");
	check("x(y?)=/\\1\nx=z", "x", "/process/z");
}

TEST(a_bad_rule_is_refused_with_one_line)
{
	static const struct {
		const char *lines;
		const char *start;
	} cases[] = {
		{"a", "--name-rule: \"a\" is not REGEX=NAME"},
		{"=a", "--name-rule: \"=a\" is not REGEX=NAME"},
		{"a=", "--name-rule: \"a=\" is not REGEX=NAME"},
		{"a=b\n(=c", "--name-rule: \"(\": "},
		{"(a)=\\2", "--name-rule: \"(a)\": the expression has no group \\2"},
	};

	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		struct name_rules *r = NULL;
		struct err err = {""};

		assert_int_equal(name_rules_new(&r, cases[i].lines, &err), -EINVAL);
		assert_null(r);
		assert_memory_equal(err.msg, cases[i].start, strlen(cases[i].start));
		assert_null(strchr(err.msg, '\n'));
	}
}

TEST(rules_are_limited_in_number)
{
	char lines[(NAME_RULES_MAX + 1) * 4 + 1] = "";
	struct name_rules *r = NULL;
	struct err err = {""};

	for (int i = 0; i < NAME_RULES_MAX; i++)
		memcpy(lines + 4 * i, "a=b\n", 4);
	assert_int_equal(name_rules_new(&r, lines, &err), 0);
	assert_true(name_rules_any(r));
	name_rules_unref(r);
	memcpy(lines + 4 * NAME_RULES_MAX, "a=b", 3);
	assert_int_equal(name_rules_new(&r, lines, &err), -EINVAL);
}

TEST(names_and_subjects_of_any_length_are_cut)
{
	CLEANUP(name_rules_unrefp) struct name_rules *r = NULL;
	char subject[5000], name[16];
	struct err err = {""};

	memset(subject, 'x', sizeof(subject) - 1);
	subject[sizeof(subject) - 1] = '\0';
	assert_int_equal(name_rules_new(&r, "(.*)=\\1\\1", &err), 0);
	assert_true(name_rules_apply(r, subject, name, sizeof(name)));
	assert_string_equal(name, "/process/xxxxxx");
	assert_false(name_rules_any(NULL));
}

static int make_rules(void *arg)
{
	struct name_rules *r = NULL;
	struct err err = {""};
	int e;

	(void)arg;
	e = name_rules_new(&r, "a=b\n(c)=\\1", &err);
	name_rules_unref(r);
	return e;
}

TEST(survives_every_failed_allocation)
{
	check_oom(make_rules, NULL);
}
