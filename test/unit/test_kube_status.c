#include "common/kubernetes/kube_status.h"
#include "test/lib/unit.h"

TEST(the_message_of_a_status_is_shown)
{
	static const struct {
		int status;
		const char *body, *line;
	} cases[] = {
		{403,
		 "{\"kind\":\"Status\",\"apiVersion\":\"v1\",\"status\":\"Failure\",\"message\":"
		 "\"pods is forbidden: User \\\"x\\\" cannot list\",\"code\":403}",
		 "pods is forbidden: User \"x\" cannot list"},
		{500, "{\"message\":\"two\\nlines \\u0007\\n\"}", "two lines"},
		{500, "{\"message\":\"\"}", "HTTP status 500"},
		{500, "{\"message\":7}", "HTTP status 500"},
		{500, "{\"message\":\"cut", "HTTP status 500"},
		{500, "[1]", "HTTP status 500"},
		{404, "404 page not found\n", "HTTP status 404: 404 page not found"},
		{401, "first\nsecond", "HTTP status 401: first"},
		{502, "<html>Bad Gateway</html>", "HTTP status 502"},
		{503, "", "HTTP status 503"},
		{503, "\n\n", "HTTP status 503"},
		{503, "a\x01\xff\x7fz \r\n", "HTTP status 503: a ? z"},
	};
	char line[KUBE_STATUS_MESSAGE_BYTES];

	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		kube_status_message(cases[i].status, cases[i].body, strlen(cases[i].body), line);
		assert_string_equal(line, cases[i].line);
	}
}

TEST(long_messages_are_cut_to_valid_text)
{
	char body[2000] = "{\"message\":\"xy", line[KUBE_STATUS_MESSAGE_BYTES];
	size_t len = strlen(body);

	/* two bytes each, so that one of them is cut in the middle */
	for (; len < 1500; len += 2)
		memcpy(body + len, "\xc3\xa4", 2);
	memcpy(body + len, "\"}", 2);
	kube_status_message(500, body, len + 2, line);
	assert_int_equal(strlen(line), KUBE_STATUS_MESSAGE_BYTES - 1);
	assert_string_equal(line + KUBE_STATUS_MESSAGE_BYTES - 4, "\xc3\xa4?");

	/* the same as plain text */
	kube_status_message(500, body + 12, len - 12, line);
	assert_int_equal(strlen(line), KUBE_STATUS_MESSAGE_BYTES - 1);
	assert_memory_equal(line, "HTTP status 500: xy", 19);
}

TEST(an_endless_answer_is_not_parsed)
{
	static const char start[] = "{\"message\":\"yes\",\"a\":\"";
	size_t len = 65 * 1024;
	AUTO_FREE char *body = malloc(len);
	char line[KUBE_STATUS_MESSAGE_BYTES];

	memset(body, 'x', len);
	memcpy(body, start, strlen(start));
	memcpy(body + len - 2, "\"}", 2);
	kube_status_message(500, body, len, line);
	assert_string_equal(line, "HTTP status 500");
}

TEST(a_line_fits_where_it_is_put)
{
	char line[5];

	kube_status_line("abcdef", 6, line, sizeof(line));
	assert_string_equal(line, "abcd");
	kube_status_line("a\tb", 3, line, sizeof(line));
	assert_string_equal(line, "a b");
	kube_status_line("", 0, line, sizeof(line));
	assert_string_equal(line, "");
	kube_status_line("abc", 3, line, 1);
	assert_string_equal(line, "");
}
