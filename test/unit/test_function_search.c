#include <errno.h>

#include "cluster-agent/query/tree/function_search.h"
#include "test/lib/unit.h"

static int test(const char *search, const char *name, const char *file)
{
	CLEANUP(function_search_freep) struct function_search *s = NULL;
	struct err err = {""};

	if (function_search_new(&s, search, &err) < 0)
		fail_msg("%s: %s", search, err.msg);
	return function_search_test(s, name, strlen(name), file, strlen(file), &err);
}

TEST(text_is_found_in_any_case_in_name_or_file)
{
	assert_int_equal(test("alloc", "runtime.mallocgc", "malloc.go"), 1);
	assert_int_equal(test("  ALLOCgc ", "runtime.mallocgc", ""), 1);
	assert_int_equal(test("loc.G", "runtime.mallocgc", "malloc.go"), 1);
	assert_int_equal(test("a.c", "abc", ""), 0);
	assert_int_equal(test("GRÖSSE", "größe", ""), 0);
	assert_int_equal(test("GRÖß", "größe", ""), 1);
	assert_int_equal(test("x", "a\xffX", ""), 1);
	assert_int_equal(test("\"", "say \"hi\"", ""), 1);
}

TEST(a_name_in_quotes_is_the_whole_name)
{
	assert_int_equal(test("\"main\"", "main", "main.c"), 1);
	assert_int_equal(test("\"main\"", "Main", "main"), 0);
	assert_int_equal(test("\"main\"", "main.main", ""), 0);
}

/* Templates of C++ have such names, and a click on one searches for it. */
TEST(an_exact_name_may_be_long_and_a_pattern_may_not)
{
	char name[1701], quoted[1703], text[1002];
	struct function_search *s = NULL;
	struct err err = {""};

	memset(name, 'x', sizeof(name) - 1);
	name[sizeof(name) - 1] = '\0';
	snprintf(quoted, sizeof(quoted), "\"%s\"", name);
	assert_int_equal(test(quoted, name, ""), 1);
	assert_int_equal(test(quoted, "x", ""), 0);
	memset(text, 'x', sizeof(text) - 1);
	text[sizeof(text) - 1] = '\0';
	assert_int_equal(function_search_new(&s, text, &err), -EINVAL);
	assert_string_equal(err.msg, "search: more than 1000 bytes");
}

TEST(an_expression_is_between_slashes)
{
	assert_int_equal(test("/^RUNTIME\\..*gc$/", "runtime.mallocgc", ""), 1);
	assert_int_equal(test("/^runtime", "main", "runtime/proc.go"), 1);
	assert_int_equal(test("/^$/", "main", ""), 0);
	assert_int_equal(test("/a(?=b)/", "ab", ""), 1);
}

static void assert_refused(const char *search, const char *reason)
{
	CLEANUP(function_search_freep) struct function_search *s = NULL;
	struct err err = {""};

	assert_int_equal(function_search_new(&s, search, &err), -EINVAL);
	assert_string_equal(err.msg, reason);
}

TEST(what_is_no_search_is_refused)
{
	char text[1100];

	assert_refused(" ", "search: nothing to search for");
	assert_refused("/", "search: nothing to search for");
	assert_refused("/a(/", "search: missing closing parenthesis at character 2");
	assert_refused("/\\C/", "search: using \\C is disabled by the application at character 2");
	memset(text, 'a', sizeof(text));
	text[sizeof(text) - 1] = '\0';
	assert_refused(text, "search: more than 1000 bytes");
}

TEST(a_match_is_bounded)
{
	static const char name[] = "aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaab";
	CLEANUP(function_search_freep) struct function_search *s = NULL;
	struct err err = {""};

	assert_int_equal(function_search_new(&s, "/(*LIMIT_MATCH=999999999)(a+)+$/", &err), 0);
	assert_int_equal(function_search_test(s, name, sizeof(name) - 1, "", 0, &err), -EINVAL);
	assert_string_equal(err.msg, "search: the expression takes too many steps");
}

/* Each name takes few steps at each of its characters, and there are many names. */
TEST(all_matches_together_are_bounded)
{
	CLEANUP(function_search_freep) struct function_search *s = NULL;
	struct err err = {""};
	char name[4000];
	int r = 0;

	memset(name, 'a', sizeof(name));
	assert_int_equal(function_search_new(&s, "/[a-z]*[!?]/", &err), 0);
	for (int i = 0; i < 100000 && r == 0; i++)
		r = function_search_test(s, name, sizeof(name), "", 0, &err);
	assert_int_equal(r, -EINVAL);
	assert_string_equal(err.msg, "search: the expression takes too many steps");
}
