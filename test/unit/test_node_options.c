#include <errno.h>

#include "node-agent/node_options.h"
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

static void a_collector_endpoint_is_enough(void **state)
{
	char *argv[] = {(char[]){"x"}, (char[]){"--collector-endpoint=http://h:1"}, NULL};
	struct err err = {""};

	(void)state;
	assert_int_equal(parse(argv, &err), 0);
}

static void without_an_endpoint_the_missing_flag_is_named(void **state)
{
	char *argv[] = {(char[]){"x"}, NULL};
	struct err err = {""};

	(void)state;
	assert_int_equal(parse(argv, &err), -EINVAL);
	assert_non_null(strstr(err.msg, "--collector-endpoint"));
}

static void what_is_no_url_is_refused(void **state)
{
	char *argv[] = {(char[]){"x"}, (char[]){"--profiles-endpoint=h:1/v1/profiles"}, NULL};
	struct err err = {""};

	(void)state;
	assert_int_equal(parse(argv, &err), -EINVAL);
	assert_non_null(strstr(err.msg, "h:1/v1/profiles"));
}

static void paths_of_the_host_are_absolute(void **state)
{
	char *root[] = {(char[]){"x"}, (char[]){"--collector-endpoint=http://h:1"},
			(char[]){"--host-root=host"}, NULL};
	char *socket[] = {(char[]){"x"}, (char[]){"--collector-endpoint=http://h:1"},
			  (char[]){"--cri-socket=tcp://h:1"}, NULL};
	struct err err = {""};

	(void)state;
	assert_int_equal(parse(root, &err), -EINVAL);
	assert_non_null(strstr(err.msg, "--host-root"));
	assert_int_equal(parse(socket, &err), -EINVAL);
	assert_non_null(strstr(err.msg, "--cri-socket"));
}

static void a_frequency_out_of_range_is_refused(void **state)
{
	char *argv[] = {(char[]){"x"}, (char[]){"--collector-endpoint=http://h:1"},
			(char[]){"--profile-frequency=1000"}, NULL};
	struct err err = {""};

	(void)state;
	assert_true(parse(argv, &err) < 0);
	assert_non_null(strstr(err.msg, "--profile-frequency"));
}

static void a_bad_expression_in_a_list_is_named(void **state)
{
	char *argv[] = {(char[]){"x"}, (char[]){"--collector-endpoint=http://h:1"},
			(char[]){"--container-allowlist=web"},
			(char[]){"--container-allowlist=[a-"}, NULL};
	struct err err = {""};

	(void)state;
	assert_int_equal(parse(argv, &err), -EINVAL);
	assert_non_null(strstr(err.msg, "--container-allowlist: \"[a-\""));
}

static void a_burst_as_long_as_the_interval_is_refused(void **state)
{
	char *argv[] = {(char[]){"x"},
			(char[]){"--collector-endpoint=http://h:1"},
			(char[]){"--go-heap-interval=10s"},
			(char[]){"--go-block-burst=10s"},
			(char[]){"--go-block-profiler=off"},
			NULL};
	struct err err = {""};

	(void)state;
	assert_int_equal(parse(argv, &err), 0);
	argv[4] = (char[]){"--go-block-profiler=burst"};
	assert_int_equal(parse(argv, &err), -EINVAL);
	assert_non_null(strstr(err.msg, "--go-block-burst"));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_collector_endpoint_is_enough),
		cmocka_unit_test(without_an_endpoint_the_missing_flag_is_named),
		cmocka_unit_test(what_is_no_url_is_refused),
		cmocka_unit_test(paths_of_the_host_are_absolute),
		cmocka_unit_test(a_frequency_out_of_range_is_refused),
		cmocka_unit_test(a_bad_expression_in_a_list_is_named),
		cmocka_unit_test(a_burst_as_long_as_the_interval_is_refused),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
