/*
 * Sums of days by function (function_sums.h), on the embedded engine and on a server: the values,
 * what a repetition, a kill and a second agent do to them, and when a day is summed again. The
 * environment names libchdb.so as CHDB_LIBRARY and the server as CLICKHOUSE_SERVER.
 */
#include <errno.h>
#include <pthread.h>
#include <signal.h>
#include <sys/wait.h>

#include "cluster-agent/store/store_chdb.h"
#include "cluster-agent/store/store_clickhouse.h"
#include "cluster-agent/sums/function_sums.h"
#include "common/system/clock.h"
#include "common/telemetry/log.h"
#include "test/lib/unit.h"
#include "test/store/clickhouse_process.h"

#define DAY INT64_C(86400)
#define FIRST INT64_C(1768003200) /* 2026-01-10 00:00 UTC, a day of which each test knows */
#define YEARS_NS (UINT64_C(3650) * 86400 * NS_PER_S)
#define N_KILLED 400

static struct clickhouse_process server;
static struct store *stores[2]; /* embedded, server */

static struct store *open_embedded(const char *dir)
{
	struct store_chdb_config cfg = {.data_dir = dir,
					.profiles_ttl_ns = YEARS_NS,
					.function_ttl_ns = YEARS_NS,
					.chdb_library = getenv("CHDB_LIBRARY")};
	struct store *s;
	struct err err = {""};

	if (store_chdb_open(&s, &cfg, &err) < 0)
		fail_msg("%s", err.msg);
	return s;
}

static struct store *open_server(const char *database)
{
	struct clickhouse_address address = {0};
	struct store_clickhouse_config cfg = {
		.client.addresses = &address,
		.client.n_addresses = 1,
		.client.user = "default",
		.client.password = "",
		.database = database,
		.schema.ttl_ns = YEARS_NS,
		.schema.function_ttl_ns = YEARS_NS,
	};
	struct store *s;
	struct err err = {""};

	snprintf(address.url, sizeof(address.url), "http://127.0.0.1:%u", server.port);
	if (store_clickhouse_open(&s, &cfg, &err) < 0)
		fail_msg("%s", err.msg);
	eventually(store_ping(s) == 0);
	return s;
}

static int start(void **state)
{
	(void)state;
	log_set_level(LOG_LEVEL_ERROR);
	clickhouse_process_init(&server);
	clickhouse_process_start(&server, NULL);
	return 0;
}

static int stop(void **state)
{
	(void)state;
	for (int i = 0; i < 2; i++)
		store_close(stores[i]);
	clickhouse_process_fini(&server);
	return 0;
}

static void run(struct store *store, const char *sql)
{
	struct err err = {""};

	if (store_maintain(store, sql, NULL, &err) < 0)
		fail_msg("%s: %s", sql, err.msg);
}

static int64_t number(struct store *store, const char *sql)
{
	CLEANUP(buf_fini) struct buf out;
	struct err err = {""};

	buf_init(&out, 10000);
	if (store_maintain(store, sql, &out, &err) < 0)
		fail_msg("%s: %s", sql, err.msg);
	assert_true(out.len > 0);
	return strtoll(out.data, NULL, 10);
}

static struct function_sums *make_sums(struct store *store)
{
	const struct function_sums_config cfg = {.store = store, .ttl_ns = 20 * 86400 * NS_PER_S};
	struct function_sums *s;

	assert_int_equal(function_sums_new(&s, &cfg), 0);
	return s;
}

/* A pass at a time since FIRST. */
static void pass(struct function_sums *s, int64_t at_s)
{
	struct err err = {""};

	if (function_sums_pass(s, (FIRST + at_s) * (int64_t)NS_PER_S, &err) < 0)
		fail_msg("%s", err.msg);
}

static void pass_once(struct store *store, int64_t at_s)
{
	CLEANUP(function_sums_freep) struct function_sums *s = make_sums(store);

	pass(s, at_s);
}

/* What a row says; "" is the total of the service. */
static int64_t value(struct store *store, const char *column, const char *service, const char *name,
		     const char *version)
{
	char sql[512];

	snprintf(sql, sizeof(sql),
		 "SELECT sum(%s) FROM profiling_functions FINAL WHERE Name = '%s' AND "
		 "ServiceName = '%s' AND Version = '%s' AND Type = 'ebpf:cpu:nanoseconds' AND "
		 "Day = '2026-01-10'",
		 column, name, service, version);
	return number(store, sql);
}

#define TIME "toDateTime64(1768003200, 9, 'UTC')"
#define STACKS                                                                            \
	"INSERT INTO profiling_stacks SELECT '%s', h.1, " TIME                            \
	" + 86400, h.2 FROM (SELECT arrayJoin([(1, ['encoding/json.Marshal json.go:10', " \
	"'main.handle main.go:5', 'main.main main.go:1']), (2, ['fib fib.c:3', "          \
	"'fib fib.c:4:inlined', 'operator new(unsigned long) new.cc:7', "                 \
	"'main.main main.go:1']), (3, ['malloc [libc.so.6]:0', 'main.handle main.go:5', " \
	"'libx.so+0x2a [libx.so@01cd]:0', '[vdso]+0x9 [vdso]:0', 'main.main main.go:1'])]) AS h)"
#define SAMPLES                                                                          \
	"INSERT INTO profiling_samples SELECT '%s', 'ebpf:cpu:nanoseconds', t, t + 60, " \
	"s.1, s.2, s.3 FROM (SELECT " TIME " + %lld + number * 60 AS t, arrayJoin(["     \
	"(map('version', '1'), 1, 100), (map('version', '1'), 2, 10), "                  \
	"(map('image', 'r/a:2'), 3, 7)]) AS s FROM numbers(10))"

static void add_samples(struct store *store, const char *service, int64_t at_s)
{
	char sql[2048];

	snprintf(sql, sizeof(sql), SAMPLES, service, (long long)at_s);
	run(store, sql);
}

static void add_service(struct store *store, const char *service, int64_t at_s)
{
	char sql[2048];

	snprintf(sql, sizeof(sql), STACKS, service);
	run(store, sql);
	add_samples(store, service, at_s);
}

/* n times the samples of SAMPLES. */
static void expect_sums(struct store *store, const char *service, int64_t n)
{
	assert_int_equal(value(store, "Self", service, "encoding/json.Marshal", "1"), n * 1000);
	assert_int_equal(value(store, "Total", service, "encoding/json.Marshal", "1"), n * 1000);
	assert_int_equal(value(store, "Self", service, "fib", "1"), n * 100);
	assert_int_equal(value(store, "Total", service, "fib", "1"), n * 100);
	assert_int_equal(value(store, "Self", service, "operator new(unsigned long)", "1"), 0);
	assert_int_equal(value(store, "Total", service, "operator new(unsigned long)", "1"),
			 n * 100);
	assert_int_equal(value(store, "Total", service, "main.handle", "1"), n * 1000);
	assert_int_equal(value(store, "Total", service, "main.handle", "r/a:2"), n * 70);
	assert_int_equal(value(store, "Self", service, "malloc", "r/a:2"), n * 70);
	/* what has no name keeps the build that says where one may be found */
	assert_int_equal(value(store, "Total", service, "libx.so+0x2a [libx.so@01cd]", "r/a:2"),
			 n * 70);
	assert_int_equal(value(store, "Total", service, "[vdso]+0x9", "r/a:2"), n * 70);
	assert_int_equal(value(store, "Total", service, "", "1"), n * 1100);
	assert_int_equal(value(store, "Total", service, "", "r/a:2"), n * 70);
}

/* ---- an agent that is killed; first, as the child needs a process without threads ---- */

#define MANY                                                                        \
	"INSERT INTO profiling_samples SELECT 'svc' || toString(number % 400), "    \
	"'ebpf:cpu:nanoseconds', " TIME " + 100, " TIME " + 160, map(), number, 1 " \
	"FROM numbers(40000)"
#define MANY_STACKS                                                                          \
	"INSERT INTO profiling_stacks SELECT 'svc' || toString(number % 400), number, " TIME \
	" + 3600, ['f' || toString(intDiv(number, 400)) || ' a.c:1', 'main a.c:2'] "         \
	"FROM numbers(40000)"

static uint64_t ask_server(const char *sql)
{
	CLEANUP(buf_fini) struct buf out;

	buf_init(&out, 100000);
	if (clickhouse_process_ask(&server, "database=killed", sql, strlen(sql), &out) != 200)
		return 0;
	return strtoull(out.data, NULL, 10);
}

static void sum_in_child(void)
{
	struct store *s = open_server("killed");

	run(s, MANY);
	run(s, MANY_STACKS);
	pass_once(s, DAY + 7 * 3600);
	_exit(0);
}

TEST(an_agent_that_is_killed_is_continued)
{
	pid_t pid = fork();
	struct store *s;
	int status;

	if (pid == 0)
		sum_in_child();
	eventually(ask_server("SELECT uniqExact(ServiceName) FROM profiling_functions") > 0);
	assert_int_equal(kill(pid, SIGKILL), 0);
	assert_int_equal(waitpid(pid, &status, 0), pid);
	s = open_server("killed");
	pass_once(s, DAY + 7 * 3600 + 60);
	assert_int_equal(number(s, "SELECT sum(Total) FROM profiling_functions FINAL WHERE "
				   "Name = ''"),
			 40000);
	assert_int_equal(number(s, "SELECT count() FROM profiling_functions FINAL WHERE "
				   "Name != ''"),
			 N_KILLED * 101);
	/* what was done before the kill has not been done again */
	assert_int_equal(number(s, "SELECT count() FROM profiling_functions"), N_KILLED * 102);
	store_close(s);
}

/* ---- both engines ---- */

TEST(stores_are_opened)
{
	stores[0] = open_embedded(temp_dir());
	stores[1] = open_server("sums");
}

TEST(sums_are_those_of_the_samples)
{
	for (int i = 0; i < 2; i++) {
		struct store *s = stores[i];

		add_service(s, "/a", 0);
		/* of the days before and after */
		add_samples(s, "/a", -601);
		add_samples(s, "/a", DAY);
		pass_once(s, DAY + 7 * 3600);
		expect_sums(s, "/a", 1);
		assert_int_equal(number(s, "SELECT uniqExact(Day) FROM profiling_functions"), 3);
		assert_int_equal(number(s, "SELECT sum(Total) FROM profiling_functions FINAL "
					   "WHERE Name = ''"),
				 3 * 1170);
	}
}

TEST(a_level_is_summed_over_time)
{
	static const char levels[] =
		"INSERT INTO profiling_samples SELECT '/level', "
		"'go_runtime:heap_inuse_space:bytes', t, t + 60, map('pod', toString(i)), 1, 1000 "
		"FROM (SELECT " TIME " + number * 60 + i AS t, i FROM numbers(100) "
		"ARRAY JOIN [0, 1] AS i)";

	for (int i = 0; i < 2; i++) {
		struct store *s = stores[i];

		add_service(s, "/level", 0);
		run(s, levels);
		pass_once(s, DAY + 8 * 3600);
		assert_int_equal(number(s, "SELECT Total FROM profiling_functions FINAL WHERE "
					   "Name = 'encoding/json.Marshal' AND ServiceName = "
					   "'/level' AND startsWith(Type, 'go_runtime')"),
				 2 * 1000 * 6000);
		assert_int_equal(number(s, "SELECT Covered FROM profiling_functions FINAL WHERE "
					   "Name = '' AND ServiceName = '/level' AND "
					   "startsWith(Type, 'go_runtime')"),
				 6000);
	}
}

TEST(a_young_day_is_summed_again_and_a_finished_one_is_not)
{
	for (int i = 0; i < 2; i++) {
		CLEANUP(function_sums_freep) struct function_sums *sums = make_sums(stores[i]);
		struct store *s = stores[i];

		add_service(s, "/young", 0);
		pass(sums, 3600);
		expect_sums(s, "/young", 1);
		add_samples(s, "/young", 1200);
		/* they are fresh enough, as those of another agent would be */
		pass(sums, 3600 + 300);
		expect_sums(s, "/young", 1);
		pass(sums, 2 * 3600);
		expect_sums(s, "/young", 2);
		add_samples(s, "/young", 3 * 3600);
		/* the day after, when it is settled: once more, for the last time */
		pass(sums, DAY + 6 * 3600 + 1);
		expect_sums(s, "/young", 3);
		add_samples(s, "/young", 4 * 3600);
		pass(sums, DAY + 9 * 3600);
		pass_once(s, DAY + 9 * 3600);
		expect_sums(s, "/young", 3);
	}
}

static void *pass_of_another(void *store)
{
	pass_once(store, DAY + 10 * 3600);
	return NULL;
}

TEST(several_agents_add_nothing_twice)
{
	for (int i = 0; i < 2; i++) {
		pthread_t threads[3];

		add_service(stores[i], "/several", 0);
		for (size_t k = 0; k < ARRAY_SIZE(threads); k++)
			assert_int_equal(
				pthread_create(&threads[k], NULL, pass_of_another, stores[i]), 0);
		for (size_t k = 0; k < ARRAY_SIZE(threads); k++)
			assert_int_equal(pthread_join(threads[k], NULL), 0);
		expect_sums(stores[i], "/several", 1);
	}
}

TEST(the_largest_functions_are_kept_and_the_total_is_that_of_all)
{
	for (int i = 0; i < 2; i++) {
		struct store *s = stores[i];

		run(s, "INSERT INTO profiling_stacks SELECT '/large', number, " TIME
		       " + 100, ['f' || toString(number) || ' a.c:1'] FROM numbers(1500)");
		run(s,
		    "INSERT INTO profiling_samples SELECT '/large', 'ebpf:cpu:nanoseconds', " TIME
		    " + 10, " TIME " + 20, map(), number, number + 1 FROM numbers(1500)");
		pass_once(s, DAY + 11 * 3600);
		assert_int_equal(number(s, "SELECT count() FROM profiling_functions FINAL WHERE "
					   "ServiceName = '/large' AND Name != ''"),
				 1000);
		assert_int_equal(value(s, "Self", "/large", "f500", ""), 501);
		assert_int_equal(value(s, "Self", "/large", "f499", ""), 0);
		assert_int_equal(value(s, "Total", "/large", "", ""), 1500 * 1501 / 2);
	}
}

TEST(sums_outlive_profiles_and_have_a_time_to_live_of_their_own)
{
	char dir[128];
	struct store_chdb_config cfg = {.profiles_ttl_ns = 86400 * NS_PER_S,
					.function_ttl_ns = UINT64_C(365) * 86400 * NS_PER_S,
					.chdb_library = getenv("CHDB_LIBRARY")};
	struct store *s;
	struct err err = {""};

	/* one engine in a process at a time */
	store_close(stores[0]);
	stores[0] = NULL;
	snprintf(dir, sizeof(dir), "%s/ttl", temp_dir());
	cfg.data_dir = dir;
	if (store_chdb_open(&s, &cfg, &err) < 0)
		fail_msg("%s", err.msg);
	run(s, "INSERT INTO profiling_functions SELECT 'f', 't', 's', '', today() - number * 200, "
	       "1, 1, 0, now64(9) FROM numbers(3)");
	eventually_by(run(s, "OPTIMIZE TABLE profiling_functions FINAL"),
		      number(s, "SELECT count() FROM profiling_functions") == 2);
	store_close(s);
}

GROUP_FIXTURE(start, stop)
