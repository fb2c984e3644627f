#include <errno.h>

#include "cluster-agent/scrape/scrape_answer.h"
#include "common/text/utf8.h"
#include "test/lib/unit.h"

static void assert_line(const char *body, size_t len, const char *expected)
{
	char line[ANSWER_LINE_BYTES];

	scrape_answer_line(line, body, len);
	assert_string_equal(line, expected);
}

TEST(the_first_line_is_printable_and_short)
{
	char long_body[300], line[ANSWER_LINE_BYTES];

	assert_line("", 0, "");
	assert_line("\n \r\n", 4, "");
	assert_line("\n  one\ttwo \r\nthree", 18, "one two");
	assert_line("a\0b\x1b[31mc\x7f", 10, "a?b?[31mc?");
	assert_line("caf\xc3\xa9 \xff\xc3", 8, "caf\xc3\xa9 ??");
	assert_line("without an end", 7, "without");
	memset(long_body, 'x', sizeof(long_body));
	memcpy(long_body + 119, "\xc3\xa9", 2);
	scrape_answer_line(line, long_body, sizeof(long_body));
	assert_int_equal(strlen(line), 120);
	assert_true(utf8_is_valid(line, strlen(line)));
}

TEST(a_status_comes_with_the_first_line_of_the_body)
{
	struct err err = {""};

	assert_int_equal(scrape_answer_status(404, "404 page not found\n", 19, &err), -EPROTO);
	assert_string_equal(err.msg, "HTTP 404: 404 page not found");
	assert_int_equal(scrape_answer_status(503, NULL, 0, &err), -EPROTO);
	assert_string_equal(err.msg, "HTTP 503");
}

static void assert_explained(const char *body, size_t len, const char *expected)
{
	struct err err;

	err_set(&err, 0, "not a valid pprof: broken field");
	assert_int_equal(scrape_answer_explain(body, len, &err), -EBADMSG);
	assert_string_equal(err.msg, expected);
}

TEST(other_formats_than_pprof_are_recognized)
{
	static const char page[] = "<html><body>Sign in</body>";
	static const char heap[] = "heap profile: 1: 2 [3: 4] @ heap/1048576\n1: 2";
	static const char mutex[] = "--- mutex:\ncycles/second=2200000000\n";

	assert_explained(page, strlen(page), "not a pprof profile: <html><body>Sign in</body>");
	assert_explained(heap, strlen(heap),
			 "a text profile, as with debug=1 or from Go before 1.9: "
			 "heap profile: 1: 2 [3: 4] @ heap/1048576");
	assert_explained(mutex, strlen(mutex),
			 "a text profile, as with debug=1 or from Go before 1.9: --- mutex:");
	assert_explained(
		"--- threadz 1 ---", 17,
		"a text profile, as with debug=1 or from Go before 1.9: --- threadz 1 ---");
	/* other programs send the maps of the process, by which code gets names */
	assert_false(scrape_answer_is_go_text("heap profile: 1: 2 [3: 4] @ heapprofile\n", 40));
	/* for binary data the decoder's error is the best */
	assert_explained("\x0a\x03\x00", 3, "not a valid pprof: broken field");
	assert_explained("", 0, "not a valid pprof: broken field");
}
