#include <errno.h>

#include "cluster-agent/sql/sql_form.h"
#include "test/lib/unit.h"

#define TYPE "multipart/form-data; boundary=X"
#define FIELD(name) "Content-Disposition: form-data; name=\"" name "\"\r\n\r\n"

static char seen[256];

static int note(void *ctx, const char *name, const char *value)
{
	size_t len = strlen(seen);

	snprintf(seen + len, sizeof(seen) - len, "%s=%s;", name, value);
	return ctx && strcmp(name, ctx) == 0 ? -E2BIG : 0;
}

static int split(const char *type, const char *body, char *stop_at)
{
	AUTO_FREE char *copy = strdup(body);

	assert_non_null(copy);
	seen[0] = '\0';
	return sql_form_split(type, copy, strlen(copy), note, stop_at);
}

TEST(finds_the_fields_of_a_form)
{
	static const char body[] = "--X\r\n" FIELD(
		"query") "SELECT {a:String}\r\n--X\r\n"
			 "Content-Type: text/plain\r\n" FIELD(
				 "param_a") "it's\r\n--Y \"\r\n--X\r\n" FIELD("empty") "\r\n--X--"
										       "\r\n";
	char stop[] = "query";

	assert_int_equal(split(TYPE, body, NULL), 0);
	assert_string_equal(seen, "query=SELECT {a:String};param_a=it's\r\n--Y \";empty=;");
	assert_int_equal(split("Multipart/Form-Data;charset=x; boundary=\"X\"", body, NULL), 0);
	assert_int_equal(split(TYPE, body, stop), -E2BIG);
	assert_string_equal(seen, "query=SELECT {a:String};");
}

TEST(refuses_what_is_no_form)
{
	static const struct {
		const char *type;
		const char *body;
		int r;
	} cases[] = {
		{TYPE, "", -EINVAL},
		{TYPE, "SELECT 1", -EINVAL},
		{TYPE, "--X", -EINVAL},
		{TYPE, "--Xy\r\n" FIELD("a") "1\r\n--X--", -EINVAL},
		{TYPE, "--X\r\n" FIELD("a") "1", -EINVAL},
		{TYPE, "--X\r\n" FIELD("a") "1\r\n--X", -EINVAL},
		{TYPE, "--X\r\nname=\"a\"\r\n\r\n1\r\n--X--", -EINVAL},
		{TYPE, "--X\r\n" FIELD("a\r\nb") "1\r\n--X--", -EINVAL},
		{"multipart/form-data", "--X\r\n" FIELD("a") "1\r\n--X--", -EINVAL},
		{TYPE,
		 "--X\r\nContent-Disposition: form-data; name=\"a\"; filename=\"b\"\r\n\r\n1\r\n"
		 "--X--",
		 -EPERM},
		{TYPE, "--X--", 0},
		{TYPE, "--X \t\r\n" FIELD("a") "1\r\n--X--", 0},
		{TYPE, "--X\r\n" FIELD("a; filename=b") "1\r\n--X--", 0},
		{TYPE,
		 "--X\r\nContent-Disposition: form-data; name=a; filename*=UTF-8''b\r\n\r\n1\r\n"
		 "--X--",
		 -EPERM},
	};
	char zero[] = "--X\r\n" FIELD("a") "1?2\r\n--X--";

	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		if (split(cases[i].type, cases[i].body, NULL) != cases[i].r)
			fail_msg("%s", cases[i].body);
	}
	*strchr(zero, '?') = '\0';
	assert_int_equal(sql_form_split(TYPE, zero, sizeof(zero) - 1, note, NULL), -EINVAL);
}

TEST(knows_the_type_of_forms)
{
	assert_true(sql_form_is_type(TYPE));
	assert_true(sql_form_is_type("multipart/form-data"));
	assert_false(sql_form_is_type(NULL));
	assert_false(sql_form_is_type("text/plain"));
	assert_false(sql_form_is_type("multipart/form-data-x"));
}
