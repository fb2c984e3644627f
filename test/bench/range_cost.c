/*
 * What questions about 30 days of 100 instances cost, on the embedded engine.
 *
 *	range_cost DIR fill
 *
 * makes them in DIR: a profile of each instance per minute, of 8 of 5,000 stacks, with 8 labels.
 *
 *	range_cost DIR ask ROUNDS
 *
 * prints the least CPU time of each question, in ms.
 */
#include <stdio.h>

#include "cluster-agent/query/profile_query.h"
#include "common/system/clock.h"
#include "test/bench/bench_store.h"

#define SERVICE "/k8s/shop/cart/app"
#define TYPE "ebpf:cpu:nanoseconds"
#define DAYS 30
#define MAX_ROUNDS 50u

/* Leaves of 900 functions. */
#define SQL_STACKS                                                                                 \
	"INSERT INTO profiling_stacks SELECT '" SERVICE                                            \
	"', cityHash64(i), toDateTime64(1768089600, 9, 'UTC'), arrayMap(k -> "                     \
	"concat('example.com/shop/cart.(*Worker).handle', toString(cityHash64(i, k) % 900), "      \
	"' /src/shop/internal/file', toString(cityHash64(i, k) % 90), '.go:', toString(i % 90)), " \
	"range(20)) FROM (SELECT number AS i FROM numbers(5000))"

#define LABELS                                                                               \
	"map('container.id', '/k8s/shop/cart-' || toString(i) || '/app', 'host.name', "      \
	"'node-' || toString(i %% 20), 'namespace', 'shop', 'pod', 'cart-' || toString(i), " \
	"'container', 'app', 'k8s.node.name', 'node-' || toString(i %% 20), 'version', "     \
	"'1.' || toString(i %% 2), 'zone', 'eu-' || toString(i %% 3))"
#define PROFILES(n)                                                                           \
	" FROM (SELECT intDiv(number, " n ") %% 100 AS i, intDiv(number, 100 * " n ") AS m, " \
	"number %% " n " AS s, toDateTime64(%lld, 9, 'UTC') + m * 60 + i %% 60 AS t FROM "    \
	"numbers(144000 * " n "))"
#define SQL_PROFILES                                                                             \
	"INSERT INTO profiling_quality SELECT '" SERVICE "', '" TYPE "', t, t + 60, 'node-' || " \
	"toString(i %% 20), 1000, 3, 240000000, cityHash64(i), map('ring_full', 2), "            \
	"cityHash64(i, t), map(), map('complete', 990, 'jit', 10), map(), " LABELS               \
	", cityHash64(i)" PROFILES("1")
#define SQL_SAMPLES                                                                          \
	"INSERT INTO profiling_samples SELECT '" SERVICE "', '" TYPE "', t, t + 60, " LABELS \
	", cityHash64(cityHash64(s, m, i) %% 5000), 30000000" PROFILES("8")

static void fill_day(struct store *store, int64_t start_s)
{
	char sql[4096];

	snprintf(sql, sizeof(sql), SQL_PROFILES, (long long)start_s);
	bench_run_sql(store, sql);
	snprintf(sql, sizeof(sql), SQL_SAMPLES, (long long)start_s);
	bench_run_sql(store, sql);
}

static void fill(struct store *store)
{
	bench_run_sql(store, SQL_STACKS);
	for (int64_t day = DAYS; day > 0; day--)
		fill_day(store, BENCH_END_S - day * BENCH_DAY_S);
}

struct question {
	const char *name;
	int (*fn)(struct store *s, const struct query_request *p, struct buf *out, struct err *err);
	const char *where;
	const char *label;
};

static double ask(struct store *store, const struct question *q, int64_t range_s)
{
	struct query_request *p = calloc(1, sizeof(*p));
	CLEANUP(buf_fini) struct buf out;
	struct err err = {""};
	uint64_t start_ns;

	if (!p || label_matchers_parse(&p->where, q->where, &err) < 0)
		bench_give_up(q->name, &err);
	p->filter = (struct query_filter){
		.service = SERVICE,
		.type = TYPE,
		.from_ns = (BENCH_END_S - range_s) * (int64_t)NS_PER_S,
		.to_ns = (BENCH_END_S - 60) * (int64_t)NS_PER_S,
		.where = &p->where,
	};
	p->n_points = 300;
	p->max_nodes = 10000;
	p->label = q->label;
	buf_init(&out, (size_t)1 << 30);
	start_ns = bench_cpu_ns();
	if (q->fn(store, p, &out, &err) < 0)
		bench_give_up(q->name, &err);
	free(p);
	return (double)(bench_cpu_ns() - start_ns) / 1e6;
}

static void ask_all(struct store *store, int64_t range_s, unsigned rounds)
{
	static const struct question questions[] = {
		{"labels", profile_query_labels, "", NULL},
		{"labels of a version", profile_query_labels, "version=\"1.1\"", NULL},
		{"timeline and instances", profile_query_timeline, "", NULL},
		{"those of a version", profile_query_timeline, "version=\"1.1\"", NULL},
		{"timeline by version", profile_query_timeline, "", "version"},
		{"timeline by host", profile_query_timeline, "", "host.name"},
		{"timeline by instance", profile_query_timeline, "", "instance"},
		{"movers since a day earlier", profile_query_movers, "", NULL},
	};

	for (size_t i = 0; i < ARRAY_SIZE(questions); i++) {
		double least = 0;

		for (unsigned k = 0; k < rounds; k++) {
			double ms = ask(store, &questions[i], range_s);

			least = k == 0 || ms < least ? ms : least;
		}
		printf("%6lld h  %-27s %5.0f ms\n", (long long)(range_s / 3600), questions[i].name,
		       least);
	}
}

static void ask_both(struct store *store, unsigned rounds)
{
	ask_all(store, 3600, rounds);
	ask_all(store, DAYS * BENCH_DAY_S, rounds);
}

int main(int argc, char **argv)
{
	const struct bench b = {"range_cost", MAX_ROUNDS, fill, ask_both};

	return bench_main(&b, argc, argv);
}
