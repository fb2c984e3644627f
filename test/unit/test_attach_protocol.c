#include "node-agent/java/attach/attach_protocol.h"

#include <errno.h>

#include "node-agent/procfs/process_status.h"
#include "test/lib/unit.h"

TEST(test_a_request_has_a_version_a_command_and_three_arguments)
{
	static const char bytes[] = "1\0load\0/tmp/a.so\0true\0start,event=cpu";
	CLEANUP(buf_fini) struct buf b;

	buf_init(&b, ATTACH_REQUEST_MAX);
	assert_int_equal(attach_protocol_load(&b, "/tmp/a.so", "start,event=cpu"), 0);
	assert_int_equal(b.len, sizeof(bytes)); /* with the last NUL */
	assert_memory_equal(b.data, bytes, b.len);
}

TEST(test_no_options_are_an_empty_argument)
{
	static const char bytes[] = "1\0load\0/a\0true\0";
	CLEANUP(buf_fini) struct buf b;

	buf_init(&b, ATTACH_REQUEST_MAX);
	assert_int_equal(attach_protocol_load(&b, "/a", ""), 0);
	assert_int_equal(b.len, sizeof(bytes));
	assert_memory_equal(b.data, bytes, b.len);
}

TEST(test_arguments_that_a_jvm_would_refuse)
{
	CLEANUP(buf_fini) struct buf b;
	char path[ATTACH_ARGUMENT_MAX + 2], options[ATTACH_ARGUMENT_MAX + 2];

	memset(path, '/', sizeof(path));
	memset(options, 'x', sizeof(options));
	path[ATTACH_ARGUMENT_MAX + 1] = options[ATTACH_ARGUMENT_MAX + 1] = '\0';
	buf_init(&b, ATTACH_REQUEST_MAX);
	assert_int_equal(attach_protocol_load(&b, path, ""), -E2BIG);
	assert_int_equal(attach_protocol_load(&b, "/a", options), -E2BIG);
	assert_int_equal(attach_protocol_load(&b, "a.so", ""), -EINVAL);
	assert_int_equal(attach_protocol_load(&b, "", ""), -EINVAL);
	assert_int_equal(b.len, 0);
	path[ATTACH_ARGUMENT_MAX] = options[ATTACH_ARGUMENT_MAX] = '\0';
	assert_int_equal(attach_protocol_load(&b, path, options), 0);
}

static void assert_answer(const char *bytes, enum attach_outcome outcome, int32_t result,
			  int32_t code)
{
	struct attach_answer a;

	attach_protocol_parse(bytes, strlen(bytes), &a);
	assert_int_equal(a.outcome, outcome);
	assert_int_equal(a.result, result);
	assert_int_equal(a.code, code);
}

TEST(test_answers_of_jdk_8)
{
	assert_answer("0\n0\n", ATTACH_LOADED, 0, 0);
	assert_answer("0\n200\n", ATTACH_LOADED, 0, 200);
	assert_answer("0\n-1\n", ATTACH_LOADED, 0, -1);
	assert_answer("-1\n", ATTACH_NOT_LOADED, -1, 0);
}

TEST(test_answers_of_jdk_9_and_later)
{
	assert_answer("0\nreturn code: 0\n", ATTACH_LOADED, 0, 0);
	assert_answer("0\nreturn code: 100\n", ATTACH_LOADED, 0, 100);
	assert_answer("-1\nreturn code: -3\n", ATTACH_LOADED, -1, -3);
	assert_answer("0\nsomething first\nreturn code: 7\n", ATTACH_LOADED, 0, 7);
	assert_answer("0\n/tmp/x.so was not loaded.\n/tmp/x.so: failed to map segment\n",
		      ATTACH_NOT_LOADED, 0, 0);
	assert_answer("0\nAgent_OnAttach is not available in /tmp/x.so\n", ATTACH_NOT_LOADED, 0, 0);
	assert_answer("-1\nDynamic agent loading is not enabled. Use ...\n",
		      ATTACH_LOADING_DISABLED, -1, 0);
	assert_answer("0\nDynamic agent loading is not enabled. Use ...\n", ATTACH_LOADING_DISABLED,
		      0, 0);
	assert_answer("101\n", ATTACH_REFUSED, 101, 0);
	assert_answer("1\nOperation load not recognized!\n", ATTACH_NOT_LOADED, 1, 0);
}

TEST(test_answers_that_are_none)
{
	assert_answer("", ATTACH_EMPTY, 0, 0);
	assert_answer("0", ATTACH_GARBAGE, 0, 0);
	assert_answer("0\n", ATTACH_GARBAGE, 0, 0); /* no code: what loaded? */
	assert_answer("\n", ATTACH_GARBAGE, 0, 0);
	assert_answer("-\n", ATTACH_GARBAGE, 0, 0);
	assert_answer("99999999999\n0\n", ATTACH_GARBAGE, 0, 0);
	assert_answer("2147483648\n0\n", ATTACH_GARBAGE, 0, 0);
	assert_answer("HTTP/1.1 400 Bad Request\r\n\r\n", ATTACH_GARBAGE, 0, 0);
	assert_answer("ATTACH_ERR AgentInitializationException\n", ATTACH_GARBAGE, 0, 0);
	/* a number that is cut off would be another number */
	assert_answer("0\n20", ATTACH_NOT_LOADED, 0, 0);
	assert_answer("0\nreturn code: 20", ATTACH_NOT_LOADED, 0, 0);
	assert_answer("0\nreturn code: \n", ATTACH_NOT_LOADED, 0, 0);
}

TEST(test_text_is_one_clean_line)
{
	struct attach_answer a;
	char many[4096];

	attach_protocol_parse("0\n\t two\r\n\x1b[31mwords \0\xff\n", 22, &a);
	assert_string_equal(a.text, "two [31mwords");
	memset(many, 'a', sizeof(many));
	memcpy(many, "0\n", 2);
	attach_protocol_parse(many, sizeof(many), &a);
	assert_int_equal(strlen(a.text), sizeof(a.text) - 1);
	assert_int_equal(a.outcome, ATTACH_NOT_LOADED);
}

/* ---- /proc/<pid>/status ---- */

#define IDS "Uid:\t1000\t2000\t3000\t4000\nGid:\t10\t20\t30\t40\n"
#define SIGNALS                                                  \
	"SigPnd:\t0000000000000001\nShdPnd:\t0000000000000004\n" \
	"SigBlk:\t0000000000000000\nSigIgn:\t0000000000001000\nSigCgt:\t2000000181005ccf\n"

static int parse(const char *text, struct process_status *ret)
{
	return process_status_parse(text, strlen(text), ret);
}

TEST(test_effective_ids_and_the_innermost_pid)
{
	struct process_status s;

	assert_int_equal(parse("Name:\tx\\nUid: 1\nState:\tT (stopped)\n" IDS
			       "NSpid:\t4711\t170\t12\t1\n" SIGNALS,
			       &s),
			 0);
	assert_int_equal(s.state, 'T');
	assert_int_equal(s.uid, 2000);
	assert_int_equal(s.gid, 20);
	assert_int_equal(s.nspid, 1);
	assert_true(process_status_has(s.pending, 3));
	assert_false(process_status_has(s.pending, 1));
	assert_true(process_status_has(s.caught, 3));
	assert_true(process_status_has(s.ignored, 13));
	assert_int_equal(parse("State:\tS (sleeping)\n" IDS "NSpid:\t4711\n" SIGNALS, &s), 0);
	assert_int_equal(s.nspid, 4711);
}

TEST(test_a_status_that_lacks_something)
{
	struct process_status s;

	assert_int_equal(parse("", &s), -EBADMSG);
	assert_int_equal(parse(IDS "NSpid:\t1\n" SIGNALS, &s), -EBADMSG);
	assert_int_equal(parse("State:\tS\nNSpid:\t1\n" SIGNALS, &s), -EBADMSG);
	assert_int_equal(parse("State:\tS\n" IDS SIGNALS, &s), -EBADMSG);
	assert_int_equal(parse("State:\tS\n" IDS "NSpid:\t\n" SIGNALS, &s), -EBADMSG);
	assert_int_equal(parse("State:\tS\n" IDS "NSpid:\t0\n" SIGNALS, &s), -EBADMSG);
	assert_int_equal(parse("State:\tS\n" IDS "NSpid:\tx\n" SIGNALS, &s), -EBADMSG);
	assert_int_equal(parse("State:\tS\n" IDS "NSpid:\t1\n", &s), -EBADMSG);
	assert_int_equal(parse("State:\tS\nUid:\t1\nGid:\t1\t2\nNSpid:\t1\n" SIGNALS, &s),
			 -EBADMSG);
}
