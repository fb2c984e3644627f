/*
 * What questions about 30 days of 100 instances cost, on the embedded engine.
 *
 *	range_cost DIR fill
 *
 * makes them in DIR: a profile of each instance per minute, of 8 stacks, with 8 labels.
 *
 *	range_cost DIR ask ROUNDS
 *
 * prints the least CPU time of each question, in ms.
 */
#include <stdio.h>

#include "cluster-agent/query/profile_query.h"
#include "cluster-agent/store/store_chdb.h"
#include "common/system/clock.h"

#define SERVICE "/k8s/shop/cart/app"
#define TYPE "ebpf:cpu:nanoseconds"
#define END_S INT64_C(1768089600) /* 2026-01-11 00:00 UTC */
#define DAY_S INT64_C(86400)
#define DAYS 30

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

static struct store *store;

static void give_up(const char *what, const struct err *err)
{
	fprintf(stderr, "%s: %s\n", what, err->msg);
	exit(1);
}

static void run_sql(const char *sql)
{
	struct err err = {""};

	if (store_maintain(store, sql, NULL, &err) < 0)
		give_up("insert", &err);
}

static void fill_day(int64_t start_s)
{
	char sql[4096];

	snprintf(sql, sizeof(sql), SQL_PROFILES, (long long)start_s);
	run_sql(sql);
	snprintf(sql, sizeof(sql), SQL_SAMPLES, (long long)start_s);
	run_sql(sql);
}

static uint64_t process_cpu_ns(void)
{
	struct timespec t;

	clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &t);
	return (uint64_t)t.tv_sec * NS_PER_S + (uint64_t)t.tv_nsec;
}

struct question {
	const char *name;
	int (*fn)(struct store *s, const struct query_request *p, struct buf *out, struct err *err);
	const char *where;
	const char *label;
};

static double ask(const struct question *q, int64_t range_s)
{
	struct query_request *p = calloc(1, sizeof(*p));
	CLEANUP(buf_fini) struct buf out;
	struct err err = {""};
	uint64_t start_ns;

	if (!p || label_matchers_parse(&p->where, q->where, &err) < 0)
		give_up(q->name, &err);
	p->filter = (struct query_filter){
		.service = SERVICE,
		.type = TYPE,
		.from_ns = (END_S - range_s) * (int64_t)NS_PER_S,
		.to_ns = (END_S - 60) * (int64_t)NS_PER_S,
		.where = &p->where,
	};
	p->n_points = 300;
	p->max_nodes = 10000;
	p->label = q->label;
	buf_init(&out, (size_t)1 << 30);
	start_ns = process_cpu_ns();
	if (q->fn(store, p, &out, &err) < 0)
		give_up(q->name, &err);
	free(p);
	return (double)(process_cpu_ns() - start_ns) / 1e6;
}

static void ask_all(int64_t range_s, unsigned rounds)
{
	static const struct question questions[] = {
		{"labels", profile_query_labels, "", NULL},
		{"labels of a version", profile_query_labels, "version=\"1.1\"", NULL},
		{"timeline and instances", profile_query_timeline, "", NULL},
		{"those of a version", profile_query_timeline, "version=\"1.1\"", NULL},
		{"timeline by version", profile_query_timeline, "", "version"},
	};

	for (size_t i = 0; i < ARRAY_SIZE(questions); i++) {
		double least = 0;

		for (unsigned k = 0; k < rounds; k++) {
			double ms = ask(&questions[i], range_s);

			least = k == 0 || ms < least ? ms : least;
		}
		printf("%6lld h  %-24s %5.0f ms\n", (long long)(range_s / 3600), questions[i].name,
		       least);
	}
}

int main(int argc, char **argv)
{
	unsigned rounds = argc > 3 ? (unsigned)strtoul(argv[3], NULL, 10) : 0;
	struct store_chdb_config cfg = {
		.data_dir = argc > 2 ? argv[1] : "",
		.profiles_ttl_ns = UINT64_C(3650) * 86400 * NS_PER_S,
		.chdb_library = getenv("CHDB_LIBRARY"),
	};
	struct err err = {""};

	if (argc < 3 || (strcmp(argv[2], "fill") != 0 && rounds == 0)) {
		fprintf(stderr, "usage: range_cost DIR fill | DIR ask ROUNDS\n");
		return 2;
	}
	if (store_chdb_open(&store, &cfg, &err) < 0)
		give_up(argv[1], &err);
	for (int64_t day = DAYS; rounds == 0 && day > 0; day--)
		fill_day(END_S - day * DAY_S);
	if (rounds > 0) {
		ask_all(3600, rounds);
		ask_all(DAYS * DAY_S, rounds);
	}
	store_close(store);
	return 0;
}
