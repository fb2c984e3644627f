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

static void sql_beyond_this_machine_needs_a_key(void **state)
{
	char sql[] = "--clickhouse-listen=0.0.0.0:8123";
	char local[] = "--clickhouse-listen=127.0.0.1:8123";
	char key[] = "--api-key=secret";
	char *open[] = {(char[]){"x"}, sql, NULL};
	char *keyed[] = {(char[]){"x"}, sql, key, NULL};
	char *loopback[] = {(char[]){"x"}, local, NULL};
	struct err err = {""};

	(void)state;
	{
		CLEANUP(options_finip) struct cluster_options o = {0};

		assert_int_equal(parse(&o, open, &err), -EINVAL);
		assert_string_equal(err.msg, "--clickhouse-listen=0.0.0.0:8123 is not a loopback "
					     "address, which needs --api-key");
	}
	{
		CLEANUP(options_finip) struct cluster_options o = {0};

		assert_int_equal(parse(&o, keyed, NULL), 0);
	}
	{
		CLEANUP(options_finip) struct cluster_options o = {0};

		assert_int_equal(parse(&o, loopback, NULL), 0);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(defaults_are_those_of_coroot),
		cmocka_unit_test(sql_beyond_this_machine_needs_a_key),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
