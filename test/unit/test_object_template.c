#include "cluster-agent/operator/render/object_template.h"

#include <errno.h>

#include "test/lib/json_oom.h"
#include "test/lib/unit.h"

/* In all tests; the texts of the user look like places. */
#define VALUES                                                                           \
	"{\"n\": 7, \"text\": \"a\", \"user\": \"<n>\", \"yes\": true, \"no\": false, "  \
	"\"list\": [\"<n>\", 2], \"map\": {\"k\": \"v\", \"void\": {}}, \"empty\": [], " \
	"\"variables\": [{\"name\": \"A\", \"value\": \"2\"}], \"two\": 2, \"part\": \"given\"}"
#define PARTS                                                                            \
	"{\"part\": \"template\", \"again\": [\"<n>\", \"<none>\"], \"nothing\": null, " \
	"\"endless\": [\"<endless>\"], \"pair\": [{\"i\": \"<i>\"}, {\"i\": \"<i>-<text>\"}]}"

static int fill(json_t **ret, const char *template)
{
	json_t *t = json_loads(template, JSON_DECODE_ANY, NULL);
	json_t *values = json_loads(VALUES, 0, NULL), *parts = json_loads(PARTS, 0, NULL);
	json_t *later = json_loads("{\"nothing\": 1, \"late\": 2}", 0, NULL);
	const struct object_scope scope = {values, {NULL, parts, later}};
	int r = t && values && parts && later ? object_template_fill(ret, t, &scope) : -ENOMEM;

	if (r == 0)
		assert_null(json_object_get(values, "i"));
	json_decref(t);
	json_decref(values);
	json_decref(parts);
	json_decref(later);
	return r;
}

/* expected NULL: nothing is left. */
static void assert_filled(const char *template, const char *expected)
{
	json_t *got = NULL;
	char *text;

	assert_int_equal(fill(&got, template), 0);
	text = json_dumps(got, JSON_ENCODE_ANY | JSON_COMPACT);
	if (expected && text)
		assert_string_equal(text, expected);
	else
		assert_true(expected == text);
	free(text);
	json_decref(got);
}

static void assert_wrong(const char *template)
{
	json_t *got = NULL;

	assert_int_equal(fill(&got, template), -EBADMSG);
	assert_null(got);
}

TEST(a_place_takes_a_value_of_any_type)
{
	assert_filled("\"<n>\"", "7");
	assert_filled("\"<no>\"", "false");
	assert_filled("{\"a\": \"<map>\", \"b\": \"<map.k>\"}",
		      "{\"a\":{\"k\":\"v\",\"void\":{}},\"b\":\"v\"}");
	assert_filled("\"x-<n>-<text>.<map.k>\"", "\"x-7-a.v\"");
	assert_filled("\"a < b > c\"", NULL);
	assert_filled("\"a < b\"", "\"a < b\"");
	assert_filled("[true, null, 1]", "[true,1]");
}

TEST(what_is_given_is_no_template)
{
	assert_filled("\"<user>\"", "\"<n>\"");
	assert_filled("\"x<user>\"", "\"x<n>\"");
	assert_filled("[\"<list>\", 3]", "[\"<n>\",2,3]");
}

TEST(what_has_no_value_is_left_out)
{
	assert_filled("\"<none>\"", NULL);
	assert_filled("\"a-<none>\"", NULL);
	assert_filled("[\"a\", \"<none>\", \"<empty>\", \"b-<none.k>\"]", "[\"a\"]");
	assert_filled("{\"a\": \"<none>\", \"b\": [\"<none>\"], \"c\": \"<map.void>\"}", "{}");
	/* but not what the template itself says */
	assert_filled("{\"emptyDir\": {}, \"list\": []}", "{\"emptyDir\":{},\"list\":[]}");
}

TEST(a_part_is_a_template_and_a_value_comes_before_it)
{
	assert_filled("\"<part>\"", "\"given\"");
	assert_filled("[\"<again>\", \"<again>\"]", "[7,7]");
	assert_filled("[\"<nothing>\", \"<late>\"]", "[2]");
}

TEST(conditions_keep_or_replace_an_object)
{
	assert_filled("{\"$if\": \"<yes>\", \"a\": \"<n>\"}", "{\"a\":7}");
	assert_filled("{\"a\": {\"$if\": \"<no>\", \"b\": 1}}", "{}");
	assert_filled("[{\"$if\": \"<none>\", \"b\": 1}, {\"$if\": \"<empty>\", \"$then\": 1}]",
		      NULL);
	assert_filled("[{\"$if\": \"<n>\", \"$then\": \"-<n>\"}, {\"$then\": [1, 2]}]",
		      "[\"-7\",1,2]");
}

TEST(an_object_is_repeated_for_numbers_and_items)
{
	assert_filled("[0, {\"$each\": \"i\", \"$of\": \"<two>\", \"x\": \"a<i>\"}]",
		      "[0,{\"x\":\"a0\"},{\"x\":\"a1\"}]");
	assert_filled("[{\"$each\": \"i\", \"$of\": \"<variables>\", \"$then\": \"<i.name>\"}]",
		      "[\"A\"]");
	assert_filled("[{\"$each\": \"i\", \"$of\": \"<two>\", \"$then\": \"<pair>\"}]",
		      "[{\"i\":0},{\"i\":\"0-a\"},{\"i\":1},{\"i\":\"1-a\"}]");
	assert_filled("[{\"$each\": \"j\", \"$of\": \"<two>\", \"$then\": [{\"$each\": \"i\", "
		      "\"$of\": \"<two>\", \"$then\": \"<j><i>\"}]}]",
		      "[\"00\",\"01\",\"10\",\"11\"]");
	assert_filled("[{\"$each\": \"i\", \"$of\": \"<none>\", \"x\": 1}]", NULL);
}

TEST(of_items_with_one_name_the_last_stays)
{
	assert_filled("[{\"name\": \"A\", \"value\": \"0\"}, {\"name\": \"B\"}, \"<variables>\"]",
		      "[{\"name\":\"B\"},{\"name\":\"A\",\"value\":\"2\"}]");
	assert_filled(
		"[{\"name\": \"A\"}, {\"name\": \"A\"}, {\"name\": \"C\"}, \"<variables>\", 5]",
		"[{\"name\":\"C\"},{\"name\":\"A\",\"value\":\"2\"},5]");
}

/* $(NAME) of the user's refers to what precedes it. */
TEST(a_variable_of_the_user_replaces_ours)
{
	json_t *values =
		json_pack("{s:[{s:s s:s}, {s:s s:s}, {s:s s:s}]}", "env", "name", "A", "value", "1",
			  "name", "B", "value", "$(A)", "name", "A", "value", "2");
	json_t *template = json_pack("[{s:s s:s}, {s:s s:{s:{s:s}}}, s]", "name", "A", "value", "0",
				     "name", "NODE_NAME", "valueFrom", "fieldRef", "fieldPath",
				     "spec.nodeName", "<env>");
	const struct object_scope scope = {values, {NULL}};
	json_t *got = NULL;
	char *text;

	assert_int_equal(object_template_fill(&got, template, &scope), 0);
	text = json_dumps(got, JSON_COMPACT);
	assert_string_equal(text, "[{\"name\":\"NODE_NAME\",\"valueFrom\":{\"fieldRef\":"
				  "{\"fieldPath\":\"spec.nodeName\"}}},"
				  "{\"name\":\"B\",\"value\":\"$(A)\"},"
				  "{\"name\":\"A\",\"value\":\"2\"}]");
	free(text);
	json_decref(got);
	json_decref(template);
	json_decref(values);
}

TEST(a_wrong_template_is_refused)
{
	assert_wrong("\"<endless>\"");
	assert_wrong("\"x<map>\"");
	assert_wrong(
		"\"<0123456789012345678901234567890123456789012345678901234567890123456789>\"");
}

TEST(documents_are_read_with_their_mistakes)
{
	struct err err = {""};
	json_t *v;

	assert_int_equal(object_yaml_load(&v, "a: [1, x]", 9, &err), 0);
	assert_int_equal(json_array_size(json_object_get(v, "a")), 2);
	json_decref(v);
	assert_int_equal(object_yaml_load(&v, "a:\n\t- b", 8, &err), -EBADMSG);
	assert_int_equal(strncmp(err.msg, "2: ", 3), 0);
	assert_int_equal(object_yaml_load(&v, "text", 4, &err), -EBADMSG);
	assert_string_equal(err.msg, "is not an object");
	assert_null(v);
}

TEST(the_templates_are_built_in)
{
	static const char *const names[] = {
		"node-agent",        "cluster-agent",    "coroot", "clickhouse",
		"clickhouse-keeper", "clickhouse-parts", "common", "agents"};

	for (size_t i = 0; i < ARRAY_SIZE(names); i++)
		assert_true(json_is_object(object_templates(names[i])));
	assert_null(object_templates("other"));
}

static int fill_all(void *arg)
{
	json_t *got = NULL;
	int r = fill(&got, "[\"<again>\", \"x<n>\", {\"$each\": \"i\", \"$of\": \"<two>\", "
			   "\"x\": \"<i>\"}, {\"$if\": \"<yes>\", \"$then\": [\"<variables>\"]}]");

	(void)arg;
	json_decref(got);
	return r;
}

TEST(a_lack_of_memory_is_reported)
{
	json_oom_begin();
	check_oom(fill_all, NULL);
	json_oom_end();
}
