/*
 * A function over 10,000 applications, on the embedded engine.
 *
 *	fleet_cost DIR fill
 *
 * makes sums of 30 days in DIR, of 100 functions in each application, two of them in all. It also
 * makes a day of profiles of 200 other applications, and prints what summing that costs.
 *
 *	fleet_cost DIR ask ROUNDS
 *
 * prints the least time of each question, and its CPU time, in ms.
 */
#include <stdio.h>

#include "cluster-agent/query/profile_query.h"
#include "cluster-agent/sums/function_sums.h"
#include "common/system/clock.h"
#include "test/bench/bench_store.h"

#define TYPE "ebpf:cpu:nanoseconds"
#define DAYS 30
#define SUMMED 200 /* applications; SQL_SAMPLES spells this number */
#define MAX_ROUNDS 50u
#define DAY_AFTER ((BENCH_END_S + 7 * 3600) * (int64_t)NS_PER_S) /* when the last day is settled */

#define SQL_FUNCTIONS                                                                             \
	"INSERT INTO profiling_functions SELECT multiIf(k = 0, '', k = 1, "                       \
	"'encoding/json.Marshal', k = 2, 'malloc', 'example.com/team' || toString(a %% 500) || "  \
	"'/app.(*Handler).serve' || toString(k)), '" TYPE "', '/k8s/team-' || toString(a %% 50) " \
	"|| '/app-' || toString(a), '1.' || toString(%lld), toDate(%lld), "                       \
	"1000000 * (a + k), 1000000000 * (1 + a) + k, 0, toDateTime64(%lld, 9, 'UTC') FROM "      \
	"(SELECT number %% 10000 AS a, intDiv(number, 10000) AS k FROM numbers(1010000))"

/* 2,000 stacks of 25 frames for each of some applications, as all are too much at once */
#define SQL_STACKS                                                                            \
	"INSERT INTO profiling_stacks SELECT '/sum/app-' || toString(a), cityHash64(a, i), "  \
	"toDateTime64(%lld, 9, 'UTC'), arrayMap(k -> concat('example.com/shop/cart.handle', " \
	"toString(cityHash64(a, i, k) %% 900), ' /src/shop/file', toString(k), '.go:', "      \
	"toString(i %% 90)), range(25)) FROM (SELECT %d + number %% 10 AS a, "                \
	"intDiv(number, 10) AS i FROM numbers(20000))"
/* an hour of them, for the same reason */
#define SQL_SAMPLES                                                                           \
	"INSERT INTO profiling_samples SELECT '/sum/app-' || toString(a), '" TYPE "', t, "    \
	"t + 60, map('container.id', '/k8s/shop/p-' || toString(a) || '/app', 'version', "    \
	"'1.0', 'host.name', 'n1'), cityHash64(a, cityHash64(%lld, m, s) %% 2000), 30000000 " \
	"FROM (SELECT number %% 200 AS a, intDiv(number, 200) %% 60 AS m, "                   \
	"intDiv(number, 12000) AS s, toDateTime64(%lld, 9, 'UTC') + m * 60 AS t FROM "        \
	"numbers(120000))"

static void fill_day(struct store *store, int64_t start_s)
{
	char sql[2048];
	int64_t age = (BENCH_END_S - start_s) / BENCH_DAY_S;

	snprintf(sql, sizeof(sql), SQL_FUNCTIONS, (long long)(age < 10),
		 (long long)(start_s / BENCH_DAY_S), (long long)(start_s + BENCH_DAY_S));
	bench_run_sql(store, sql);
}

static void sum(struct store *store)
{
	const struct function_sums_config cfg = {.store = store,
						 .ttl_ns = 2 * (uint64_t)BENCH_DAY_S * NS_PER_S};
	struct function_sums *s;
	struct err err = {""};
	uint64_t cpu_ns = bench_cpu_ns(), start_ns = clock_monotonic_ns();

	if (function_sums_new(&s, &cfg) < 0 || function_sums_pass(s, DAY_AFTER, &err) < 0)
		bench_give_up("sum", &err);
	printf("summing 200 applications, 2.9 million samples: %.0f ms of CPU time, %.0f ms\n",
	       (double)(bench_cpu_ns() - cpu_ns) / 1e6,
	       (double)(clock_monotonic_ns() - start_ns) / 1e6);
	function_sums_free(s);
}

static void fill(struct store *store)
{
	char sql[2048];

	for (int64_t day = DAYS; day > 0; day--)
		fill_day(store, BENCH_END_S - day * BENCH_DAY_S);
	for (int first = 0; first < SUMMED; first += 10) {
		snprintf(sql, sizeof(sql), SQL_STACKS, (long long)BENCH_END_S, first);
		bench_run_sql(store, sql);
	}
	for (long long at = BENCH_END_S - BENCH_DAY_S; at < BENCH_END_S; at += 3600) {
		snprintf(sql, sizeof(sql), SQL_SAMPLES, at, at);
		bench_run_sql(store, sql);
	}
	sum(store);
}

struct question {
	const char *name;
	int (*fn)(struct store *s, const struct query_request *p, struct buf *out, struct err *err);
	const char *text;
	uint32_t limit;
};

static void ask(struct store *store, const struct question *q, unsigned rounds)
{
	uint64_t least_ns = UINT64_MAX, least_cpu_ns = UINT64_MAX;
	struct err err = {""};
	size_t bytes = 0;

	for (unsigned i = 0; i < rounds; i++) {
		struct query_request p = {
			.filter.from_ns = (BENCH_END_S - DAYS * BENCH_DAY_S) * (int64_t)NS_PER_S,
			.filter.to_ns = BENCH_END_S * (int64_t)NS_PER_S,
			.name = q->text,
			.search = q->text,
			.limit = q->limit,
		};
		CLEANUP(buf_fini) struct buf out;
		uint64_t start_ns = clock_monotonic_ns(), cpu_ns = bench_cpu_ns();

		buf_init(&out, (size_t)1 << 30);
		if (q->fn(store, &p, &out, &err) < 0)
			bench_give_up(q->name, &err);
		cpu_ns = bench_cpu_ns() - cpu_ns;
		start_ns = clock_monotonic_ns() - start_ns;
		least_ns = start_ns < least_ns ? start_ns : least_ns;
		least_cpu_ns = cpu_ns < least_cpu_ns ? cpu_ns : least_cpu_ns;
		bytes = out.len;
	}
	printf("%-44s %6.0f ms, CPU %6.0f ms, %7zu bytes\n", q->name, (double)least_ns / 1e6,
	       (double)least_cpu_ns / 1e6, bytes);
}

static void ask_all(struct store *store, unsigned rounds)
{
	static const struct question questions[] = {
		{"in all applications, 100 listed", profile_query_fleet, "malloc", 100},
		{"in all applications, 1,000 listed", profile_query_fleet, "malloc", 1000},
		{"in 20 applications", profile_query_fleet,
		 "example.com/team7/app.(*Handler).serve9", 100},
		{"names with \"marshal\"", profile_query_names, "marshal", 20},
		{"names with \"handler\", which are nearly all", profile_query_names, "handler",
		 20},
		{"names that begin with \"ma\"", profile_query_names, "ma", 20},
	};

	for (size_t i = 0; i < ARRAY_SIZE(questions); i++)
		ask(store, &questions[i], rounds);
}

int main(int argc, char **argv)
{
	const struct bench b = {"fleet_cost", MAX_ROUNDS, fill, ask_all};

	return bench_main(&b, argc, argv);
}
