#include <errno.h>

#include "cluster-agent/cluster_options.h"
#include "common/clock.h"
#include "test/lib/unit.h"

static void options_finip(struct cluster_options *o)
{
	options_fini(cluster_option_defs, o);
}

/* args: NULL-terminated, the program's name first */
static int parse(struct cluster_options *o, char **args, struct err *err)
{
	int r = options_parse(cluster_option_defs, o, args, "cluster", "1", err);

	return r < 0 ? r : cluster_options_check(o, err);
}

static void defaults_are_those_of_coroot(void **state)
{
	CLEANUP(options_finip) struct cluster_options o = {0};
	char *args[] = {(char[]){"x"}, NULL};

	(void)state;
	assert_int_equal(parse(&o, args, NULL), 0);
	assert_string_equal(o.listen, "127.0.0.1:10301");
	assert_string_equal(o.storage, "embedded");
	assert_string_equal(o.data_dir, "/var/lib/coroot-cluster-agent");
	assert_true(o.profiles_ttl_ns == 7 * 86400 * NS_PER_S);
	assert_null(o.clickhouse_listen);
	assert_null(o.api_key);
}

static void an_empty_data_dir_is_refused(void **state)
{
	CLEANUP(options_finip) struct cluster_options o = {0};
	char *args[] = {(char[]){"x"}, (char[]){"--data-dir="}, NULL};
	struct err err = {""};

	(void)state;
	assert_int_equal(parse(&o, args, &err), -EINVAL);
	assert_true(strstr(err.msg, "data-dir") != NULL);
}

static void only_the_embedded_engine_is_there(void **state)
{
	CLEANUP(options_finip) struct cluster_options o = {0};
	char *args[] = {(char[]){"x"}, (char[]){"--storage=tape"}, NULL};
	struct err err = {""};

	(void)state;
	assert_int_equal(parse(&o, args, &err), -EINVAL);
	assert_true(strstr(err.msg, "storage") != NULL);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(defaults_are_those_of_coroot),
		cmocka_unit_test(an_empty_data_dir_is_refused),
		cmocka_unit_test(only_the_embedded_engine_is_there),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
