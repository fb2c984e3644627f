#include <errno.h>

#include "cluster-agent/query/read/label_matchers.h"
#include "common/data/buf.h"
#include "test/lib/unit.h"

/* expected has "name|op|value;" per matcher. */
static void assert_parses(const char *text, const char *expected)
{
	static const char *const ops[] = {"=", "!=", "=~", "!~"};
	CLEANUP(buf_fini) struct buf b;
	struct label_matchers m;
	struct err err = {""};

	buf_init(&b, 10000);
	if (label_matchers_parse(&m, text, &err) < 0)
		fail_msg("%s: %s", text, err.msg);
	for (size_t i = 0; i < m.n_items; i++)
		assert_int_equal(buf_addf(&b, "%s|%s|%s;", m.items[i].name, ops[m.items[i].op],
					  m.items[i].value),
				 0);
	assert_string_equal(b.data ? b.data : "", expected);
}

static void assert_refused(const char *text, const char *reason)
{
	struct label_matchers m;
	struct err err = {""};

	assert_int_equal(label_matchers_parse(&m, text, &err), -EINVAL);
	assert_string_equal(err.msg, reason);
}

TEST(reads_what_prometheus_writes)
{
	assert_parses("", "");
	assert_parses(" {} ", "");
	assert_parses("pod=\"a\"", "pod|=|a;");
	assert_parses("pod=\"\"", "pod|=|;");
	assert_parses("{pod=\"a\",host.name!=\"b\",version=~\"1\\..*\",zone!~\"eu-.*\",}",
		      "pod|=|a;host.name|!=|b;version|=~|1\\..*;zone|!~|eu-.*;");
	assert_parses(" { pod = 'it\\'s' , x-y/z:1 =~ `a\\b\"'` } ",
		      "pod|=|it's;x-y/z:1|=~|a\\b\"';");
	assert_parses("\"odd name\"=\"1\"", "odd name|=|1;");
	assert_parses("a=\"\\\"\\\\\\n\\r\\t\\d\\'\"", "a|=|\"\\\n\r\t\\d\\';");
	assert_parses("a=~\"1\\.\",a=~\"1\\\\.\"", "a|=~|1\\.;a|=~|1\\.;");
	assert_parses("a=\"},{=\"", "a|=|},{=;");
}

TEST(refuses_what_is_malformed)
{
	assert_refused("pod", "label matchers: expected =, !=, =~ or !~ at character 4");
	assert_refused("=\"a\"", "label matchers: expected a label name at character 1");
	assert_refused("\"\"=\"a\"", "label matchers: empty label name at character 3");
	assert_refused("pod=a", "label matchers: expected a value in quotes at character 5");
	assert_refused("pod=\"a", "label matchers: missing closing quote at character 7");
	assert_refused("pod=\"a\\", "label matchers: missing closing quote at character 8");
	assert_refused("pod=\"a\" x=\"b\"", "label matchers: expected a comma at character 9");
	assert_refused("pod=\"a\",,", "label matchers: expected a label name at character 9");
	assert_refused("{pod=\"a\"", "label matchers: missing } at character 9");
	assert_refused("pod=\"a\"}", "label matchers: } without { at character 8");
	assert_refused("{} x", "label matchers: unexpected text at character 4");
	assert_refused("pod~\"a\"", "label matchers: expected =, !=, =~ or !~ at character 4");
}

TEST(is_bounded)
{
	CLEANUP(buf_fini) struct buf b;

	buf_init(&b, 100000);
	for (int i = 0; i < 17; i++)
		assert_int_equal(buf_addf(&b, "a=\"b\","), 0);
	assert_refused(b.data, "label matchers: more than 16 of them");
	buf_truncate(&b, 0);
	assert_int_equal(buf_addf(&b, "a=\"%05000d\"", 0), 0);
	assert_refused(b.data, "label matchers: more than 4096 characters");
}
