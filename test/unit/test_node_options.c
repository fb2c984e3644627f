#include <errno.h>
#include <limits.h>
#include <unistd.h>

#include "common/options/option_variables.h"
#include "common/system/fs.h"
#include "node-agent/node_options.h"
#include "test/lib/foreign_variables.h"
#include "test/lib/unit.h"

/* Parses and checks a command line; err has the sentence of an error. */
static int parse(char **argv, struct err *err)
{
	struct node_options o = {0};
	int r;

	r = options_parse(node_option_defs, &o, argv, "coroot-node-agent", "0", err);
	if (r == 0)
		r = node_options_check(&o, err);
	options_fini(node_option_defs, &o);
	return r;
}

TEST(a_collector_endpoint_is_enough)
{
	char *argv[] = {(char[]){"x"}, (char[]){"--collector-endpoint=http://h:1"}, NULL};
	struct err err = {""};

	assert_int_equal(parse(argv, &err), 0);
}

TEST(without_an_endpoint_the_missing_flag_is_named)
{
	char *argv[] = {(char[]){"x"}, NULL};
	struct err err = {""};

	assert_int_equal(parse(argv, &err), -EINVAL);
	assert_non_null(strstr(err.msg, "--collector-endpoint"));
}

TEST(what_is_no_url_is_refused)
{
	char *argv[] = {(char[]){"x"}, (char[]){"--profiles-endpoint=h:1/v1/profiles"}, NULL};
	struct err err = {""};

	assert_int_equal(parse(argv, &err), -EINVAL);
	assert_non_null(strstr(err.msg, "h:1/v1/profiles"));
}

TEST(paths_of_the_host_are_absolute)
{
	char *root[] = {(char[]){"x"}, (char[]){"--collector-endpoint=http://h:1"},
			(char[]){"--host-root=host"}, NULL};
	char *socket[] = {(char[]){"x"}, (char[]){"--collector-endpoint=http://h:1"},
			  (char[]){"--cri-socket=tcp://h:1"}, NULL};
	struct err err = {""};

	assert_int_equal(parse(root, &err), -EINVAL);
	assert_non_null(strstr(err.msg, "--host-root"));
	assert_int_equal(parse(socket, &err), -EINVAL);
	assert_non_null(strstr(err.msg, "--cri-socket"));
}

TEST(a_frequency_out_of_range_is_refused)
{
	char *argv[] = {(char[]){"x"}, (char[]){"--collector-endpoint=http://h:1"},
			(char[]){"--profile-frequency=1000"}, NULL};
	struct err err = {""};

	assert_true(parse(argv, &err) < 0);
	assert_non_null(strstr(err.msg, "--profile-frequency"));
}

TEST(a_bad_expression_in_a_list_is_named)
{
	char *argv[] = {(char[]){"x"}, (char[]){"--collector-endpoint=http://h:1"},
			(char[]){"--container-allowlist=web"},
			(char[]){"--container-allowlist=[a-"}, NULL};
	struct err err = {""};

	assert_int_equal(parse(argv, &err), -EINVAL);
	assert_non_null(strstr(err.msg, "--container-allowlist: \"[a-\""));
}

TEST(a_burst_as_long_as_the_interval_is_refused)
{
	char *argv[] = {(char[]){"x"},
			(char[]){"--collector-endpoint=http://h:1"},
			(char[]){"--go-heap-interval=10s"},
			(char[]){"--go-block-burst=10s"},
			(char[]){"--go-block-profiler=off"},
			NULL};
	struct err err = {""};

	assert_int_equal(parse(argv, &err), 0);
	argv[4] = (char[]){"--go-block-profiler=burst"};
	assert_int_equal(parse(argv, &err), -EINVAL);
	assert_non_null(strstr(err.msg, "--go-block-burst"));
}

TEST(java_samples_have_limits)
{
	char *argv[] = {(char[]){"x"}, (char[]){"--collector-endpoint=http://h:1"},
			(char[]){"--java-alloc-interval=0"}, NULL};
	struct err err = {""};

	assert_int_equal(parse(argv, &err), 0);
	argv[2] = (char[]){"--java-alloc-interval=999"};
	assert_int_equal(parse(argv, &err), -EINVAL);
	assert_non_null(strstr(err.msg, "--java-alloc-interval"));
	argv[2] = (char[]){"--java-cpu-interval=999us"};
	assert_true(parse(argv, &err) < 0);
	assert_non_null(strstr(err.msg, "--java-cpu-interval"));
}

TEST(the_java_library_is_found_next_to_the_program_unless_named)
{
	struct node_options o = {.java_async_profiler_lib = (char[]){"/no/such.so"}};
	char path[PATH_MAX], expected[PATH_MAX + 32];
	char *argv[] = {(char[]){"x"}, (char[]){"--collector-endpoint=http://h:1"},
			(char[]){"--java-async-profiler-lib=lib.so"}, NULL};
	struct err err = {""};
	FILE *f;

	assert_int_equal(parse(argv, &err), -EINVAL);
	assert_non_null(strstr(err.msg, "--java-async-profiler-lib: \"lib.so\""));
	assert_int_equal(node_options_java_library(&o, path, sizeof(path)), 0);
	assert_string_equal(path, "/no/such.so");
	assert_int_equal(node_options_java_library(&o, path, 4), -ENAMETOOLONG);

	o.java_async_profiler_lib = NULL;
	assert_int_equal(node_options_java_library(&o, path, sizeof(path)), -ENOENT);
	assert_int_equal(program_dir(path, sizeof(path)), 0);
	snprintf(expected, sizeof(expected), "%s/libasyncProfiler.so", path);
	f = fopen(expected, "w");
	assert_non_null(f);
	fclose(f);
	assert_int_equal(node_options_java_library(&o, path, sizeof(path)), 0);
	assert_string_equal(path, expected);
	unlink(expected);
}

TEST(only_misspelt_variables_are_taken_for_options)
{
	char meant[OPTION_ENV_NAME_BYTES];

	for (size_t i = 0; i < ARRAY_SIZE(foreign_variables); i++)
		if (option_variable_misspelt(node_option_defs, foreign_variables[i], meant))
			fail_msg("%s is taken for %s", foreign_variables[i], meant);
	for (const struct option_def *d = node_option_defs; d->name; d++) {
		char name[OPTION_ENV_NAME_BYTES];

		option_env_name(d->name, name);
		assert_false(option_variable_misspelt(node_option_defs, name, meant));
		if (d->variable)
			assert_false(
				option_variable_misspelt(node_option_defs, d->variable, meant));
	}
	assert_true(option_variable_misspelt(node_option_defs, "GO_HEAP_PROFILR", meant));
	assert_string_equal(meant, "GO_HEAP_PROFILER");
}
