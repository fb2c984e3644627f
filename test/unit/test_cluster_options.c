#include <errno.h>

#include "cluster-agent/cluster_options.h"
#include "cluster-agent/cluster_store.h"
#include "common/options/option_variables.h"
#include "common/system/clock.h"
#include "test/lib/foreign_variables.h"
#include "test/lib/unit.h"

static void options_finip(struct cluster_options *o)
{
	options_fini(cluster_option_defs, o);
}

/* args begins with the program's name and ends with NULL. */
static int parse(struct cluster_options *o, char **args, struct err *err)
{
	int r = options_parse(cluster_option_defs, o, args, "cluster", "1", err);

	if (r >= 0)
		r = cluster_options_check(o, err);
	if (r >= 0 && !cluster_options_forward(o))
		r = cluster_store_check(o, err);
	return r;
}

TEST(defaults_are_those_of_coroot)
{
	CLEANUP(options_finip) struct cluster_options o = {0};
	char *args[] = {(char[]){"x"}, NULL};

	assert_int_equal(parse(&o, args, NULL), 0);
	assert_string_equal(o.listen, "127.0.0.1:10301");
	assert_int_equal(cluster_options_storage(&o), STORAGE_EMBEDDED);
	assert_string_equal(o.clickhouse_user, "default");
	assert_string_equal(o.clickhouse_database, "coroot");
	assert_string_equal(o.data_dir, "/var/lib/coroot-cluster-agent");
	assert_true(o.profiles_ttl_ns == 7 * 86400 * NS_PER_S);
	assert_null(o.clickhouse_listen);
	assert_null(o.api_key);
}

TEST(an_empty_data_dir_is_refused)
{
	CLEANUP(options_finip) struct cluster_options o = {0};
	char *args[] = {(char[]){"x"}, (char[]){"--data-dir="}, NULL};
	struct err err = {""};

	assert_int_equal(parse(&o, args, &err), -EINVAL);
	assert_true(strstr(err.msg, "data-dir") != NULL);
}

TEST(other_storage_than_ours_is_refused)
{
	CLEANUP(options_finip) struct cluster_options o = {0};
	char *args[] = {(char[]){"x"}, (char[]){"--storage=tape"}, NULL};
	struct err err = {""};

	assert_int_equal(parse(&o, args, &err), -EINVAL);
	assert_true(strstr(err.msg, "storage") != NULL);
}

static void refused(const char *flag, const char *second, const char *why)
{
	CLEANUP(options_finip) struct cluster_options o = {0};
	AUTO_FREE char *a = strdup(flag);
	AUTO_FREE char *b = second ? strdup(second) : NULL;
	char *args[] = {(char[]){"x"}, a, b, NULL};
	struct err err = {""};

	assert_int_equal(parse(&o, args, &err), -EINVAL);
	if (!strstr(err.msg, why))
		fail_msg("%s: \"%s\" does not say \"%s\"", flag, err.msg, why);
}

TEST(scraping_defaults_are_those_of_coroot)
{
	CLEANUP(options_finip) struct cluster_options o = {0};
	char *args[] = {(char[]){"x"}, NULL};
	bool kinds[PROFILE_KIND_MAX];

	assert_int_equal(parse(&o, args, NULL), 0);
	assert_true(o.scrape_interval_ns == 60 * NS_PER_S);
	assert_true(o.scrape_timeout_ns == 10 * NS_PER_S);
	assert_true(o.scrape_cpu_duration_ns == 10 * NS_PER_S);
	assert_false(cluster_options_forward(&o));
	assert_int_equal(cluster_options_scrape_kinds(&o, kinds, NULL), 0);
	for (int k = 0; k < PROFILE_KIND_MAX; k++)
		assert_int_equal(kinds[k], k <= PROFILE_KIND_BLOCK);
}

TEST(types_to_scrape_are_a_list_of_known_names)
{
	CLEANUP(options_finip) struct cluster_options o = {0};
	char *args[] = {(char[]){"x"}, (char[]){"--profiles-scrape-types=heap,memory,block"}, NULL};
	bool kinds[PROFILE_KIND_MAX];

	assert_int_equal(parse(&o, args, NULL), 0);
	assert_int_equal(cluster_options_scrape_kinds(&o, kinds, NULL), 0);
	assert_false(kinds[PROFILE_KIND_CPU]);
	assert_true(kinds[PROFILE_KIND_HEAP]);
	assert_true(kinds[PROFILE_KIND_BLOCK]);
	refused("--profiles-scrape-types=heap,hopes", NULL, "\"hopes\" is none of");
	refused("--profiles-scrape-types=heap,,cpu", NULL, "\"\" is none of");
}

TEST(contradictions_in_scraping_are_refused)
{
	refused("--profiles-scrape-interval=999ms", NULL, "below 1s");
	refused("--profiles-scrape-cpu-duration=1500ms", NULL, "whole seconds");
	refused("--profiles-scrape-interval=10s", "--profiles-scrape-cpu-duration=11s", "longer");
	refused("--profiles-scrape-cert-file=c", NULL, "go together");
	refused("--profiles-scrape-username=u", NULL, "go together");
	refused("--profiles-scrape-concurrency=0", NULL, "concurrency");
}

TEST(forwarding_keeps_no_store)
{
	refused("--coroot-url=coroot:8080", NULL, "not an http:// or https:// URL");
	refused("--coroot-url=http://c", "--profiles-scrape-interval=0", "nothing to do");
	refused("--coroot-url=http://c", "--clickhouse-listen=:8123", "needs a store");
}

TEST(an_address_chooses_servers)
{
	CLEANUP(options_finip) struct cluster_options o = {0};
	char *args[] = {(char[]){"x"}, (char[]){"--clickhouse-address=a:8123,https://b"}, NULL};

	assert_int_equal(parse(&o, args, NULL), 0);
	assert_int_equal(cluster_options_storage(&o), STORAGE_CLICKHOUSE);
}

TEST(variables_of_coroot_are_understood)
{
	CLEANUP(options_finip) struct cluster_options o = {0};
	char *args[] = {(char[]){"x"}, NULL};

	setenv("GLOBAL_CLICKHOUSE_ADDRESS", "ch:9000", 1);
	setenv("GLOBAL_CLICKHOUSE_USER", "one", 1);
	setenv("CLICKHOUSE_USER", "other", 1);
	setenv("GLOBAL_CLICKHOUSE_TLS_ENABLED", "true", 1);
	assert_int_equal(parse(&o, args, NULL), 0);
	unsetenv("GLOBAL_CLICKHOUSE_ADDRESS");
	unsetenv("GLOBAL_CLICKHOUSE_USER");
	unsetenv("CLICKHOUSE_USER");
	unsetenv("GLOBAL_CLICKHOUSE_TLS_ENABLED");
	assert_string_equal(o.clickhouse_address, "ch:9000");
	assert_string_equal(o.clickhouse_user, "other");
	assert_true(o.clickhouse_tls);
}

TEST(contradictions_about_servers_are_refused)
{
	refused("--storage=clickhouse", NULL, "needs --clickhouse-address");
	refused("--storage=embedded", "--clickhouse-address=a", "contradict");
	refused("--clickhouse-address=ftp://a", NULL, "only http:// and https://");
	refused("--clickhouse-address=http://u:p@a", NULL, "--clickhouse-password-file");
	refused("--clickhouse-address=a", "--clickhouse-tls-cert-file=c", "go together");
	refused("--clickhouse-address=a", "--clickhouse-listen=127.0.0.1:8123", "embedded engine");
	refused("--clickhouse-address=a", "--clickhouse-move-after=2d", "go together");
	refused("--clickhouse-address=a", "--clickhouse-move-volume=cold", "go together");
	refused("--clickhouse-cluster=c", NULL, "need --clickhouse-address");
	refused("--clickhouse-storage-policy=p", NULL, "need --clickhouse-address");
	refused("--max-disk-usage=100", NULL, "max-disk-usage");
}

TEST(only_misspelt_variables_are_taken_for_options)
{
	char meant[OPTION_ENV_NAME_BYTES];

	for (size_t i = 0; i < ARRAY_SIZE(foreign_variables); i++)
		if (option_variable_misspelt(cluster_option_defs, foreign_variables[i], meant))
			fail_msg("%s is taken for %s", foreign_variables[i], meant);
	for (const struct option_def *d = cluster_option_defs; d->name; d++) {
		char name[OPTION_ENV_NAME_BYTES];

		option_env_name(d->name, name);
		assert_false(option_variable_misspelt(cluster_option_defs, name, meant));
		if (d->variable)
			assert_false(
				option_variable_misspelt(cluster_option_defs, d->variable, meant));
	}
	assert_true(option_variable_misspelt(cluster_option_defs, "PROFILE_TTL", meant));
	assert_string_equal(meant, "PROFILES_TTL");
}
