#include <errno.h>

#include "common/system/clock.h"
#include "node-agent/record/record_options.h"
#include "test/lib/unit.h"

#define ARGS_MAX 8u

/* As main() gets them, until the next call. */
static char **args_of(const char *const *texts)
{
	static char copies[ARGS_MAX][64];
	static char *args[ARGS_MAX + 1];
	size_t n = 0;

	for (; texts[n]; n++) {
		snprintf(copies[n], sizeof(copies[n]), "%s", texts[n]);
		args[n] = copies[n];
	}
	args[n] = NULL;
	return args;
}

#define ARGS(...) args_of((const char *const[]){__VA_ARGS__, NULL})

static struct record_options parse(char **args)
{
	struct record_options o;
	struct err err = {""};

	if (record_options_parse(args, &o, &err) < 0)
		fail_msg("%s", err.msg);
	return o;
}

TEST(what_is_not_given_has_a_default)
{
	struct record_options o = parse(args_of((const char *const[]){NULL}));

	assert_true(record_options_is_whole_machine(&o));
	assert_int_equal(o.hz, 99);
	assert_true(o.duration_ns == 10 * NS_PER_S);
	assert_null(o.output);
}

TEST(values_stand_behind_a_blank_or_an_equals_sign)
{
	struct record_options o = parse(ARGS("--pid=1,22,333", "-d", "1m30s", "--frequency=1000"));

	assert_int_equal(o.n_pids, 3);
	assert_int_equal(o.pids[1], 22);
	assert_true(o.duration_ns == 90 * NS_PER_S);
	assert_int_equal(o.hz, 1000);
	o = parse(ARGS("-p", "7", "-d", "2"));
	assert_true(o.duration_ns == 2 * NS_PER_S);
}

TEST(a_command_keeps_its_options)
{
	char **args = ARGS("-F", "5", "--", "-p", "x", "--frobnicate");
	struct record_options o = parse(args);

	assert_ptr_equal(o.command, args + 3);
	assert_int_equal(o.n_pids, 0);
	assert_true(o.duration_ns == UINT64_MAX);
	o = parse(ARGS("-d", "3s", "make", "-j3"));
	assert_string_equal(o.command[1], "-j3");
	assert_true(o.duration_ns == 3 * NS_PER_S);
}

TEST(the_name_of_the_file_says_what_it_is)
{
	static const struct {
		const char *path;
		enum recording_format format;
	} cases[] = {
		{"a.pb.gz", RECORDING_FORMAT_PPROF},
		{"default.pgo", RECORDING_FORMAT_PPROF},
		{"a.folded", RECORDING_FORMAT_FOLDED},
		{"a.speedscope.json", RECORDING_FORMAT_SPEEDSCOPE},
		{"a.svg", RECORDING_FORMAT_SVG},
		{"b.svg.html", RECORDING_FORMAT_HTML},
		{"-", RECORDING_FORMAT_PPROF},
	};

	for (size_t i = 0; i < ARRAY_SIZE(cases); i++)
		assert_int_equal(parse(ARGS("-o", cases[i].path)).format, cases[i].format);
	assert_int_equal(parse(ARGS("-o", "x", "--format=svg")).format, RECORDING_FORMAT_SVG);
	assert_int_equal(parse(ARGS("-o", "x.txt", "--for=go-pgo")).format, RECORDING_FORMAT_PPROF);
}

TEST(what_is_wrong_is_named)
{
	static const struct {
		const char *args[6];
		const char *said;
	} cases[] = {
		{{"-p", "0"}, "\"0\" is not a process id"},
		{{"-p", "1,"}, "\"\" is not a process id"},
		{{"-p", "1", "x"}, "one of them"},
		{{"--comm", ""}, "the name is empty"},
		{{"--container", "abc"}, "too short"},
		{{"-d", "25h"}, "is not a time"},
		{{"-F", "10001"}, "from 1 to 10000"},
		{{"--heap=1", "-p", "1"}, "has no value"},
		{{"--heap", "--goroutine"}, "one at a time"},
		{{"--heap", "-p", "1,2"}, "of one process"},
		{{"--heap", "-p", "1", "--for=go-pgo", "-o", "x"}, "CPU profiles"},
		{{"--for=pgo"}, "is not go-pgo"},
		{{"--for=go-pgo", "-o", "x.svg", "--format", "svg"}, "reads pprof only"},
		{{"--format", "svg"}, "-o FILE is missing"},
		{{"-o"}, "needs a value"},
		{{"-o", "x"}, "--format says what it is"},
		{{"-"}, "unknown option"},
		{{"--"}, "a command is missing"},
	};

	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		const char *args[ARRAY_SIZE(cases[i].args) + 1] = {NULL};
		struct record_options o;
		struct err err = {""};

		memcpy(args, cases[i].args, sizeof(cases[i].args));
		assert_int_equal(record_options_parse(args_of(args), &o, &err), -EINVAL);
		if (!strstr(err.msg, cases[i].said))
			fail_msg("%s: %s", cases[i].args[0], err.msg);
	}
}
