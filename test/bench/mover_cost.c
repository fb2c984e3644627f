/*
 * The cost of movers over 30 days for 200 applications at once, on the embedded
 * engine, beside the same question to the sums of days, which do not answer it exactly
 * (BENCHMARKS.md).
 *
 *	mover_cost DIR fill
 *
 * makes 31 days of 200 applications, which is as many as movers read, in DIR: a profile every ten
 * minutes, of 10 of 200 stacks with leaves of 100 functions, and the sums of these days.
 *
 *	mover_cost DIR ask ROUNDS
 *
 * prints the least time and CPU time of each question, in ms.
 */
#include <stdio.h>

#include "cluster-agent/query/profile_query.h"
#include "common/system/clock.h"
#include "test/bench/bench_store.h"

#define TYPE "ebpf:cpu:nanoseconds"
#define DAYS 30
#define MAX_ROUNDS 50u

#define SERVICE "'/k8s/team-' || toString(a %% 20) || '/app-' || toString(a)"
#define SQL_STACKS                                                                           \
	"INSERT INTO profiling_stacks SELECT " SERVICE ", cityHash64(a, i), "                \
	"toDateTime64(%lld, 9, 'UTC'), arrayMap(k -> concat('example.com/shop/handle', "     \
	"toString(cityHash64(a, if(k = 0, i %% 100, i), k) %% 900), ' /src/shop/file', "     \
	"toString(k), '.go:', toString(i %% 90)), range(20)) FROM (SELECT number %% 200 AS " \
	"a, intDiv(number, 200) AS i FROM numbers(40000))"
#define PROFILES(n)                                                                     \
	" FROM (SELECT number %% 200 AS a, intDiv(number, 200) %% 144 AS m, "           \
	"intDiv(number, 28800) AS s, toDateTime64(%lld, 9, 'UTC') + m * 600 AS t FROM " \
	"numbers(28800 * " n "))"
#define SQL_PROFILES                                                                       \
	"INSERT INTO profiling_quality SELECT " SERVICE ", '" TYPE "', t, t + 60, 'n' || " \
	"toString(a %% 20), 10, 0, 300000000, 1, map(), cityHash64(a, t), map(), map(), "  \
	"map(), map('version', '1.0'), 1" PROFILES("1")
#define SQL_SAMPLES                                                                            \
	"INSERT INTO profiling_samples SELECT " SERVICE ", '" TYPE "', t, t + 60, "            \
	"map('version', '1.0'), cityHash64(a, cityHash64(t, s, a) %% 200), 30000000" PROFILES( \
		"10")
#define SQL_SUMS                                                                             \
	"INSERT INTO profiling_functions SELECT concat('example.com/shop/handle', "          \
	"toString(number %% 200)), '" TYPE "', " SERVICE ", '1.0', toDate(%lld), 1000, "     \
	"2000, 0, toDateTime64(%lld, 9, 'UTC') FROM (SELECT number, intDiv(number, 200) AS " \
	"a FROM numbers(40000))"

static void fill_day(struct store *store, int64_t start_s)
{
	char sql[2048];

	snprintf(sql, sizeof(sql), SQL_PROFILES, (long long)start_s);
	bench_run_sql(store, sql);
	snprintf(sql, sizeof(sql), SQL_SAMPLES, (long long)start_s);
	bench_run_sql(store, sql);
	snprintf(sql, sizeof(sql), SQL_SUMS, (long long)(start_s / BENCH_DAY_S),
		 (long long)start_s);
	bench_run_sql(store, sql);
}

static void fill(struct store *store)
{
	char sql[2048];

	snprintf(sql, sizeof(sql), SQL_STACKS, (long long)BENCH_END_S);
	bench_run_sql(store, sql);
	for (int64_t day = DAYS + 1; day > 0; day--)
		fill_day(store, BENCH_END_S - day * BENCH_DAY_S);
}

/* The days of both ranges, by function; what would have to be joined and ranked beside. */
static void ask_sums(struct store *store)
{
	static const char sql[] =
		"SELECT count() FROM (SELECT Name, ServiceName, sumIf(s, Day > d - 31) AS x, "
		"sumIf(s, Day < d - 1) AS y FROM (SELECT Name, ServiceName, Version, Day, "
		"argMax(Self, Summed) AS s, toDate('2026-01-11') AS d FROM profiling_functions "
		"WHERE Type = '" TYPE "' AND Name != '' GROUP BY Name, ServiceName, Version, Day) "
		"GROUP BY Name, ServiceName ORDER BY abs(x - y) DESC LIMIT 100)";

	bench_run_sql(store, sql);
}

static void ask_movers(struct store *store, const char *service, int64_t days)
{
	struct query_request *p = calloc(1, sizeof(*p));
	CLEANUP(buf_fini) struct buf out;
	struct err err = {""};

	if (!p)
		bench_give_up("movers", &err);
	p->filter = (struct query_filter){
		.service = service,
		.from_ns = (BENCH_END_S - days * BENCH_DAY_S) * (int64_t)NS_PER_S,
		.to_ns = BENCH_END_S * (int64_t)NS_PER_S,
	};
	buf_init(&out, (size_t)1 << 30);
	if (profile_query_movers(store, p, &out, &err) < 0)
		bench_give_up("movers", &err);
	free(p);
}

static void ask_all(struct store *store, unsigned rounds)
{
	static const struct {
		const char *name, *service;
		int days; /* 0: the sums */
	} questions[] = {
		{"movers of all, a day", NULL, 1},
		{"movers of all, 7 days", NULL, 7},
		{"movers of all, 30 days", NULL, DAYS},
		{"movers of one, 30 days", "/k8s/team-7/app-7", DAYS},
		{"sums of days of all, 30 days", NULL, 0},
	};

	for (size_t i = 0; i < ARRAY_SIZE(questions); i++) {
		uint64_t least_ns = UINT64_MAX, least_cpu_ns = UINT64_MAX;

		for (unsigned k = 0; k < rounds; k++) {
			uint64_t start_ns = clock_monotonic_ns(), cpu_ns = bench_cpu_ns();

			if (questions[i].days > 0)
				ask_movers(store, questions[i].service, questions[i].days);
			else
				ask_sums(store);
			cpu_ns = bench_cpu_ns() - cpu_ns;
			start_ns = clock_monotonic_ns() - start_ns;
			least_ns = start_ns < least_ns ? start_ns : least_ns;
			least_cpu_ns = cpu_ns < least_cpu_ns ? cpu_ns : least_cpu_ns;
		}
		printf("%-30s %6.0f ms, CPU %6.0f ms\n", questions[i].name, (double)least_ns / 1e6,
		       (double)least_cpu_ns / 1e6);
	}
}

int main(int argc, char **argv)
{
	const struct bench b = {"mover_cost", MAX_ROUNDS, fill, ask_all};

	return bench_main(&b, argc, argv);
}
