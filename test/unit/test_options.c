#include <errno.h>
#include <fcntl.h>
#include <sys/mman.h>

#include "common/options/option_value.h"
#include "common/options/options.h"
#include "common/options/options_file.h"
#include "common/options/options_print.h"
#include "common/text/parse.h"
#include "test/lib/unit.h"

enum storage {
	EMBEDDED,
	CLICKHOUSE,
};

struct opts {
	char *listen;
	char *api_key;
	char *rules;
	enum storage storage;
	uint64_t hz;
	uint64_t workers;
	uint64_t interval_ns;
	uint64_t timeout_ns;
	bool heap;
	bool unmanaged;
};

#define S UINT64_C(1000000000)
#define AT(field) .offset = offsetof(struct opts, field)

static const char *const storages[] = {[EMBEDDED] = "embedded", [CLICKHOUSE] = "clickhouse", NULL};

static const struct option_def defs[] = {
	{"listen", OPTION_STRING, AT(listen), .def = "127.0.0.1:80", .value = "ADDR",
	 .help = "Address to listen on"},
	{"api-key", OPTION_SECRET, AT(api_key), .help = "Key of senders"},
	{"rule", OPTION_LIST, AT(rules), .value = "RULE", .help = "How to name things"},
	{"storage", OPTION_ENUM, AT(storage), .def = "embedded", .choices = storages,
	 .help = "Where profiles go"},
	{"profile-frequency", OPTION_UINT, AT(hz), .def = "99", .min = 1, .max = 999,
	 .help = "Samples per second"},
	{"workers", OPTION_UINT, AT(workers), .min = 2, .def = "2", .help = "Threads"},
	{"profile-interval", OPTION_DURATION, AT(interval_ns), .def = "1m", .min = 10 * S,
	 .max = 3600 * S, .help = "Time between profiles"},
	{"timeout", OPTION_DURATION, AT(timeout_ns), .help = "Time to wait"},
	{"heap", OPTION_BOOL, AT(heap), .def = "true", .help = "Whether to read heaps"},
	{"profile-unmanaged", OPTION_BOOL, AT(unmanaged), .help = "Also plain processes"},
	{0},
};

static struct opts opts;
static struct err err;
static char output[64 * 1024];
static char path[64];
static int file_fd = -1;

static int reset(void **state)
{
	(void)state;
	options_fini(defs, &opts);
	memset(&opts, 0, sizeof(opts));
	memset(&err, 0, sizeof(err));
	for (const struct option_def *d = defs; d->name; d++) {
		char name[OPTION_ENV_NAME_BYTES];

		option_env_name(d->name, name);
		unsetenv(name);
	}
	unsetenv("CONFIG");
	if (file_fd >= 0)
		close(file_fd);
	file_fd = -1;
	return 0;
}

/* Makes a file, which exists until reset(); path is its path. */
static void write_file(const char *text, size_t len)
{
	if (file_fd >= 0)
		close(file_fd);
	file_fd = memfd_create("config", MFD_CLOEXEC);
	assert_true(file_fd >= 0);
	assert_int_equal(write(file_fd, text, len), len);
	snprintf(path, sizeof(path), "/proc/self/fd/%d", file_fd);
}

#define PARSE(...)                                                        \
	({                                                                \
		char *argv_[] = {(char[]){"agent"}, ##__VA_ARGS__, NULL}; \
		options_parse(defs, &opts, argv_, "agent", "v1.2", &err); \
	})
#define ARG(text) ((char[]){text})

/* The same as PARSE(); output has what it wrote to stdout. */
#define PARSE_OUTPUT(...)                    \
	({                                   \
		int saved_ = grab_stdout();  \
		int r_ = PARSE(__VA_ARGS__); \
		return_stdout(saved_);       \
		r_;                          \
	})

static int grab_stdout(void)
{
	int saved, fd = memfd_create("stdout", MFD_CLOEXEC);

	fflush(stdout);
	saved = dup(STDOUT_FILENO);
	assert_true(fd >= 0 && saved >= 0);
	assert_int_equal(dup2(fd, STDOUT_FILENO), STDOUT_FILENO);
	close(fd);
	return saved;
}

static void return_stdout(int saved)
{
	ssize_t n;

	fflush(stdout);
	n = pread(STDOUT_FILENO, output, sizeof(output) - 1, 0);
	dup2(saved, STDOUT_FILENO);
	close(saved);
	assert_true(n >= 0);
	output[n] = '\0';
}

TEST_FIXTURE(defaults_fill_what_nobody_gave, reset, reset)
{
	assert_int_equal(PARSE(), OPTIONS_OK);
	assert_string_equal(opts.listen, "127.0.0.1:80");
	assert_null(opts.api_key);
	assert_int_equal(opts.storage, EMBEDDED);
	assert_int_equal(opts.hz, 99);
	assert_true(opts.interval_ns == 60 * S);
	assert_int_equal(opts.timeout_ns, 0);
	assert_true(opts.heap);
	assert_false(opts.unmanaged);
}

TEST_FIXTURE(both_spellings_of_a_flag_work, reset, reset)
{
	assert_int_equal(PARSE(ARG("--listen=:8080"), ARG("--api-key"), ARG("-s=ec=ret"),
			       ARG("--storage"), ARG("clickhouse"), ARG("--profile-frequency"),
			       ARG("19"), ARG("--profile-interval=1m30s"), ARG("--heap=no"),
			       ARG("--profile-unmanaged")),
			 OPTIONS_OK);
	assert_string_equal(opts.listen, ":8080");
	assert_string_equal(opts.api_key, "-s=ec=ret");
	assert_int_equal(opts.storage, CLICKHOUSE);
	assert_int_equal(opts.hz, 19);
	assert_true(opts.interval_ns == 90 * S);
	assert_false(opts.heap);
	assert_true(opts.unmanaged);
}

TEST_FIXTURE(flag_beats_environment_beats_file_beats_default, reset, reset)
{
	static const char file[] = "listen: file\nstorage: clickhouse\nprofile-frequency: 11\n"
				   "heap: off\n";

	write_file(file, sizeof(file) - 1);
	setenv("LISTEN", "environment", 1);
	setenv("PROFILE_FREQUENCY", "22", 1);
	assert_int_equal(PARSE(ARG("--listen=flag"), ARG("--config"), path), OPTIONS_OK);
	assert_string_equal(opts.listen, "flag");
	assert_int_equal(opts.hz, 22);
	assert_int_equal(opts.storage, CLICKHOUSE);
	assert_false(opts.heap);
	assert_true(opts.interval_ns == 60 * S);
}

TEST_FIXTURE(the_file_may_be_named_by_the_environment, reset, reset)
{
	static const char file[] = "profile-frequency: 11\n";

	write_file(file, sizeof(file) - 1);
	setenv("CONFIG", path, 1);
	assert_int_equal(PARSE(), OPTIONS_OK);
	assert_int_equal(opts.hz, 11);

	reset(NULL);
	write_file(file, sizeof(file) - 1);
	setenv("CONFIG", "/nonexistent", 1);
	assert_int_equal(PARSE(ARG("--config"), path), OPTIONS_OK);
	assert_int_equal(opts.hz, 11);
}

TEST_FIXTURE(empty_values_unset_or_count_as_not_given, reset, reset)
{
	static const char file[] = "listen:\nstorage: ~\nprofile-frequency: null\n"
				   "api-key: \"null\"\n";

	setenv("PROFILE_INTERVAL", "", 1);
	write_file(file, sizeof(file) - 1);
	assert_int_equal(PARSE(ARG("--config"), path), OPTIONS_OK);
	assert_string_equal(opts.listen, "127.0.0.1:80");
	assert_int_equal(opts.storage, EMBEDDED);
	assert_int_equal(opts.hz, 99);
	assert_string_equal(opts.api_key, "null");
	assert_true(opts.interval_ns == 60 * S);

	reset(NULL);
	assert_int_equal(PARSE(ARG("--listen=")), OPTIONS_OK);
	assert_null(opts.listen);
}

TEST_FIXTURE(a_list_has_a_line_per_item_wherever_it_comes_from, reset, reset)
{
	static const char sequence[] = "rule:\n  - a=b\n  - 'c: d'\n",
			  lines[] = "rule: |\n  a\n  b\n", empty[] = "rule: []\n";

	assert_int_equal(PARSE(), OPTIONS_OK);
	assert_null(opts.rules);
	write_file(sequence, sizeof(sequence) - 1);
	assert_int_equal(PARSE(ARG("--config"), path), OPTIONS_OK);
	assert_string_equal(opts.rules, "a=b\nc: d");
	setenv("RULE", "e", 1);
	assert_int_equal(PARSE(ARG("--config"), path), OPTIONS_OK);
	assert_string_equal(opts.rules, "e");
	assert_int_equal(PARSE(ARG("--rule=f"), ARG("--rule"), ARG("g"), ARG("--rule=h")),
			 OPTIONS_OK);
	assert_string_equal(opts.rules, "f\ng\nh");

	reset(NULL);
	write_file(lines, sizeof(lines) - 1);
	assert_int_equal(PARSE(ARG("--config"), path), OPTIONS_OK);
	assert_string_equal(opts.rules, "a\nb\n");
	write_file(empty, sizeof(empty) - 1);
	assert_int_equal(PARSE(ARG("--config"), path), OPTIONS_OK);
	assert_null(opts.rules);
}

TEST_FIXTURE(a_wrong_command_line_is_explained, reset, reset)
{
	static const struct {
		const char *argv[3];
		const char *msg;
	} cases[] = {
		{{"--profile-frequency=0"}, "--profile-frequency: 0 is outside 1..999"},
		{{"--profile-frequency", "1000"}, "--profile-frequency: 1000 is outside 1..999"},
		{{"--profile-frequency=99999999999999999999"},
		 "--profile-frequency: 99999999999999999999 is too large"},
		{{"--profile-frequency=ten"}, "--profile-frequency: \"ten\" is not a whole number"},
		{{"--profile-frequency="}, "--profile-frequency: \"\" is not a whole number"},
		{{"--workers=1"}, "--workers: 1 is below 2"},
		{{"--profile-interval=5s"}, "--profile-interval: 5s is outside 10s..1h"},
		{{"--profile-interval=60"},
		 "--profile-interval: \"60\" is not a duration like 90s or 1h30m"},
		{{"--timeout=99999999d"}, "--timeout: 99999999d is too large"},
		{{"--storage=disk"}, "--storage: \"disk\" is not one of embedded, clickhouse"},
		{{"--storage=embedded|clickhouse"},
		 "--storage: \"embedded|clickhouse\" is not one of embedded, clickhouse"},
		{{"--storage=embed"}, "--storage: \"embed\" is not one of embedded, clickhouse"},
		{{"--heap=maybe"}, "--heap: \"maybe\" is neither true nor false"},
		{{"--heap", "false"}, "unexpected argument \"false\""},
		{{"--unknown=secret"}, "unknown flag --unknown"},
		{{"--list=x"}, "unknown flag --list"},
		{{"--=x"}, "unknown flag --"},
		{{"--"}, "unexpected argument \"--\""},
		{{"-x"}, "unexpected argument \"-x\""},
		{{"run"}, "unexpected argument \"run\""},
		{{"--listen"}, "--listen: needs a value"},
		{{"--listen", "--heap"}, "--listen: needs a value"},
		{{"--config"}, "--config: needs a value"},
		{{"--listen=a", "--listen=a"}, "--listen: given twice"},
		{{"--heap", "--heap"}, "--heap: given twice"},
		{{"--config=/a", "--config=/b"}, "--config: given twice"},
		{{"--print-config=yes"}, "unknown flag --print-config"},
	};

	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		char program[] = "agent", a[64], b[64];
		char *argv[] = {program, a, cases[i].argv[1] ? b : NULL, NULL};

		snprintf(a, sizeof(a), "%s", cases[i].argv[0]);
		snprintf(b, sizeof(b), "%s", cases[i].argv[1] ? cases[i].argv[1] : "");
		assert_int_equal(options_parse(defs, &opts, argv, "agent", "v1", &err), -EINVAL);
		assert_string_equal(err.msg, cases[i].msg);
		assert_null(opts.listen);
	}
}

TEST_FIXTURE(a_missing_program_name_is_an_error, reset, reset)
{
	char *argv[] = {NULL};

	assert_int_equal(options_parse(defs, &opts, argv, "agent", "v1", &err), -EINVAL);
}

TEST_FIXTURE(a_wrong_variable_is_named, reset, reset)
{
	setenv("PROFILE_FREQUENCY", "0", 1);
	assert_int_equal(PARSE(), -EINVAL);
	assert_string_equal(err.msg, "PROFILE_FREQUENCY: 0 is outside 1..999");
}

TEST_FIXTURE(a_wrong_file_is_explained_by_line, reset, reset)
{
	static const struct {
		const char *text;
		const char *msg;
	} cases[] = {
		{"# comment\n\nlisten: a\nlisen: b\n", ":4: unknown key \"lisen\""},
		{"config: b\n", ":1: unknown key \"config\""},
		{"heap: true\nprofile-frequency: 0\n",
		 ":2: profile-frequency: 0 is outside 1..999"},
		{"listen: a\nlisten: b\n", ":2: listen is given twice"},
		{"listen:\n  - a\n  - b\n", ":1: listen: expected one value"},
		{"rule:\n  - a\n  - [b]\n", ":1: rule: expected one value"},
		{"listen: {a: b}\n", ":1: listen: expected one value"},
		{"listen: \"a\\0b\"\n", ":1: listen: expected one value"},
		{"[a]: b\n", ":1: expected \"name: value\""},
		{"- listen\n", ":1: expected \"name: value\""},
		{"listen\n", ":1: expected \"name: value\""},
		{"listen: a\n---\nlisten: b\n", ":2: more than one document"},
		{"heap: true\nlisten: \"a\n", ":3: found unexpected end of stream"},
		{"heap: true\nlisten: *a\n", ":2: found undefined alias"},
		{"heap: true\nlisten: \xff\n", ":2: invalid leading UTF-8 octet"},
	};

	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		char want[256];

		write_file(cases[i].text, strlen(cases[i].text));
		snprintf(want, sizeof(want), "%s%s", path, cases[i].msg);
		assert_int_equal(PARSE(ARG("--config"), path), -EINVAL);
		assert_string_equal(err.msg, want);
	}
}

TEST_FIXTURE(a_file_that_cannot_be_read_is_explained, reset, reset)
{
	AUTO_FREE char *large = malloc(OPTIONS_FILE_BYTES + 1);
	char want[128];

	assert_int_equal(PARSE(ARG("--config=/nonexistent/a.yaml")), -ENOENT);
	assert_string_equal(err.msg, "read /nonexistent/a.yaml: No such file or directory");
	assert_int_equal(PARSE(ARG("--config=/proc/self")), -EISDIR);
	assert_string_equal(err.msg, "read /proc/self: Is a directory");

	assert_non_null(large);
	memset(large, '#', OPTIONS_FILE_BYTES + 1);
	write_file(large, OPTIONS_FILE_BYTES + 1);
	assert_int_equal(PARSE(ARG("--config"), path), -EINVAL);
	snprintf(want, sizeof(want), "%s: larger than 1048576 bytes", path);
	assert_string_equal(err.msg, want);
}

TEST_FIXTURE(files_without_a_setting_are_fine, reset, reset)
{
	static const char *const texts[] = {"", "# nothing\n", "---\n", "{}\n", "---\n...\n"};

	for (size_t i = 0; i < ARRAY_SIZE(texts); i++) {
		write_file(texts[i], strlen(texts[i]));
		assert_int_equal(PARSE(ARG("--config"), path), OPTIONS_OK);
		assert_int_equal(opts.hz, 99);
		options_fini(defs, &opts);
	}
}

TEST_FIXTURE(help_lists_every_option, reset, reset)
{
	int saved, r;

	assert_int_equal(PARSE(ARG("--help")), OPTIONS_HELP);
	assert_int_equal(PARSE(ARG("--nonsense"), ARG("-h")), OPTIONS_HELP);
	saved = grab_stdout();
	r = options_print_help(defs);
	return_stdout(saved);
	assert_int_equal(r, 0);
	assert_non_null(strstr(output, "  --listen=ADDR\n        Address to listen on\n"
				       "        default: 127.0.0.1:80; environment: LISTEN\n"));
	assert_non_null(strstr(output, "  --profile-frequency=N\n        Samples per second\n"
				       "        default: 99; range: 1..999; "
				       "environment: PROFILE_FREQUENCY\n"));
	assert_non_null(strstr(output, "default: 1m; range: 10s..1h; "
				       "environment: PROFILE_INTERVAL\n"));
	assert_non_null(strstr(output, "  --storage=embedded|clickhouse\n"));
	assert_non_null(strstr(output, "default: 2; range: at least 2; "));
	assert_non_null(strstr(output, "  --heap[=true|false]\n"));
	assert_non_null(strstr(output, "  --config=FILE\n"));
	for (const struct option_def *d = defs; d->name; d++)
		assert_non_null(strstr(output, d->help));
}

TEST_FIXTURE(version_is_one_line, reset, reset)
{
	assert_int_equal(PARSE_OUTPUT(ARG("--version")), OPTIONS_EXIT);
	assert_string_equal(output, "agent v1.2\n");
}

TEST_FIXTURE(print_config_shows_what_is_in_effect_without_secrets, reset, reset)
{
	assert_int_equal(PARSE_OUTPUT(ARG("--print-config"), ARG("--api-key=hunter2"),
				      ARG("--listen=a: \"b\"\n# \xc3\xa9")),
			 OPTIONS_EXIT);
	assert_string_equal(output, "listen: \"a: \\\"b\\\"\\n# \xc3\xa9\"\n"
				    "api-key: \"***\"\n"
				    "rule: null\n"
				    "storage: embedded\n"
				    "profile-frequency: 99\n"
				    "workers: 2\n"
				    "profile-interval: 1m\n"
				    "timeout: 0s\n"
				    "heap: true\n"
				    "profile-unmanaged: false\n");
}

TEST_FIXTURE(print_config_can_be_read_again, reset, reset)
{
	assert_int_equal(PARSE_OUTPUT(ARG("--print-config"), ARG("--listen= x\t\\ 'y' # "),
				      ARG("--profile-interval=1m30s"), ARG("--heap=false")),
			 OPTIONS_EXIT);
	assert_null(opts.api_key);
	options_fini(defs, &opts);
	write_file(output, strlen(output));
	assert_int_equal(PARSE(ARG("--config"), path), OPTIONS_OK);
	assert_string_equal(opts.listen, " x\t\\ 'y' # ");
	assert_null(opts.api_key);
	assert_true(opts.interval_ns == 90 * S);
	assert_false(opts.heap);
}

TEST_FIXTURE(print_config_refuses_what_yaml_cannot_hold, reset, reset)
{
	assert_int_equal(PARSE_OUTPUT(ARG("--print-config"), ARG("--listen=\xff")), -EINVAL);
	assert_string_equal(err.msg, "--listen: the value is not UTF-8");
	assert_string_equal(output, "");
}

TEST_FIXTURE(print_config_checks_first, reset, reset)
{
	assert_int_equal(PARSE_OUTPUT(ARG("--print-config"), ARG("--workers=0")), -EINVAL);
	assert_string_equal(output, "");
}

TEST_FIXTURE(durations_print_as_they_are_read, reset, reset)
{
	static const uint64_t values[] = {0,         1,        999,       1000,          1001,
					  90 * S,    3600 * S, 86400 * S, 90061 * S + 1, S / 2,
					  UINT64_MAX};
	char text[OPTION_VALUE_BYTES];

	for (size_t i = 0; i < ARRAY_SIZE(values); i++) {
		uint64_t ns;

		option_format_duration(values[i], text);
		assert_int_equal(parse_duration(text, strlen(text), &ns), 0);
		assert_true(ns == values[i]);
	}
	option_format_duration(5400 * S, text);
	assert_string_equal(text, "1h30m");
}

static int parse_from_everywhere(void *arg)
{
	int r;

	(void)arg;
	setenv("PROFILE_FREQUENCY", "22", 1);
	r = PARSE(ARG("--config"), path, ARG("--listen=b"), ARG("--rule=c"), ARG("--rule=d"),
		  ARG("--rule=e"));
	assert_true(r == 0 || !opts.listen);
	options_fini(defs, &opts);
	return r;
}

static int print_config(void *arg)
{
	int saved = grab_stdout(), r;

	(void)arg;
	r = PARSE(ARG("--print-config"));
	return_stdout(saved);
	options_fini(defs, &opts);
	return r == OPTIONS_EXIT ? 0 : r;
}

TEST_FIXTURE(sizes_print_as_they_are_read, reset, reset)
{
	static const struct option_def def = {"size", OPTION_SIZE, .min = 512, .help = "Bytes"};
	static const char *const sizes[] = {"512",  "1001",    "500MB", "1536KiB",
					    "1GiB", "1024GiB", "2TB",   "18446744073709551615"};
	char text[OPTION_VALUE_BYTES];
	uint64_t n;

	for (size_t i = 0; i < ARRAY_SIZE(sizes); i++) {
		uint64_t again = 0;

		assert_int_equal(option_set(&def, &n, "--size", sizes[i], &err), 0);
		assert_string_equal(option_text(&def, &n, text),
				    strcmp(sizes[i], "1024GiB") == 0 ? "1TiB" : sizes[i]);
		assert_int_equal(option_set(&def, &again, "--size", text, &err), 0);
		assert_true(again == n);
	}
	assert_int_equal(option_set(&def, &n, "--size", "511", &err), -EINVAL);
	assert_string_equal(err.msg, "--size: 511 is below 512");
	assert_int_equal(option_set(&def, &n, "--size", "5 apples", &err), -EINVAL);
	assert_string_equal(err.msg, "--size: \"5 apples\" is not a size like 500MB or 1GiB");
}

TEST_FIXTURE(survives_every_failed_allocation, reset, reset)
{
	static const char file[] = "listen: file\nrule: [a, b]\n";

	write_file(file, sizeof(file) - 1);
	check_oom(parse_from_everywhere, NULL);
	check_oom(print_config, NULL);
}

TEST_FIXTURE(secrets_vanish_from_arguments_and_environment, reset, reset)
{
	char program[] = "p", joined[] = "--api-key=hunter2", flag[] = "--api-key",
	     next[] = "hunter3";
	char listen[] = "--listen=hunter2", other[] = "--listen", value[] = "--api-key",
	     odd[] = "--";
	char shortest[] = "--api-key=x";
	char *argv[] = {program, joined, flag, next, listen, other, value, shortest, odd, NULL};
	const char *variable;

	assert_int_equal(setenv("API_KEY", "hunter4", 1), 0);
	variable = getenv("API_KEY");
	options_wipe_secrets(defs, argv);
	assert_memory_equal(joined, "--api-key=***\0\0\0\0", sizeof(joined));
	assert_memory_equal(next, "***\0\0\0\0", sizeof(next));
	assert_string_equal(listen, "--listen=hunter2");
	assert_string_equal(value, "--api-key");
	assert_string_equal(shortest, "--api-key=*");
	assert_string_equal(variable, "");
	assert_null(getenv("API_KEY"));
	options_wipe_secrets(defs, (char *[]){NULL});
}
