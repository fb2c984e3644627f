/*
 * What an answer costs beside the SQL that it cannot do without, on the embedded engine.
 *
 *	query_cost DIR fill
 *
 * makes a day of one service in DIR: 10 million samples of 50,000 stacks of 26 to 28 frames, which
 * are a tree of more than 100,000 nodes, and as many samples per minute of the day before it.
 *
 *	query_cost DIR ask ROUNDS
 *
 * prints a line of JSON per question: medians of wall and CPU time, and the peak of resident memory
 * above what the process had before. "bare" is one statement that reads values and frames, its
 * answer unread; "cold" and "warm" are flame graphs without and with a cache of frames.
 */
#include <stdio.h>

#include "cluster-agent/query/profile_query.h"
#include "cluster-agent/query/read/stack_cache.h"
#include "common/limits.h"
#include "common/system/clock.h"
#include "test/bench/bench_store.h"

#define SERVICE "/k8s/shop/cart"
#define TYPE "ebpf:cpu:nanoseconds"
#define MAX_ROUNDS 50u

/* Levels of a stack are groups that divide further and further, so that stacks share callers. */
#define SQL_GROUP "cityHash64(k, bitShiftRight(i, greatest(0, 16 - intDiv(k * 16, 25))))"
#define SQL_STACKS                                                                                \
	"INSERT INTO profiling_stacks SELECT '" SERVICE                                           \
	"', cityHash64(i), toDateTime64(1768089600, 9, 'UTC'), arrayReverse(arrayMap(g -> "       \
	"concat('example.com/shop/internal/', ['cart', 'billing', 'search', 'store', 'http', "    \
	"'json'][1 + g % 6000 % 6], '.(*Worker).handle', toString(g % 6000), "                    \
	"' /src/shop/internal/file', toString(g % 6000 % 300), '.go:', "                          \
	"toString(g % 24001 % 4 + g % 6000)), arrayMap(k -> " SQL_GROUP ", range(26 + i % 3)))) " \
	"FROM (SELECT number AS i FROM numbers(50000))"
/* %lld: the first profile. 20 instances have a profile of 348 stacks each minute. */
#define SQL_SAMPLES                                                                            \
	"INSERT INTO profiling_samples SELECT '" SERVICE "', '" TYPE "', t, t + 60, "          \
	"map('host.name', 'node-' || toString(p %% 5), 'container.id', '/k8s/shop/cart-' || "  \
	"toString(p %% 20) || '/app', 'namespace', 'shop', 'pod', 'cart-' || "                 \
	"toString(p %% 20), 'version', '1.' || toString(p %% 2)), "                            \
	"cityHash64(toUInt64(floor(50000 * pow(cityHash64(n, p) %% 1000003 / 1000003, 2)))), " \
	"10000000 * (1 + cityHash64(p, n) %% 5) FROM (SELECT number %% 348 AS n, "             \
	"intDiv(number, 348) + %lld AS p, toDateTime64(1768003200, 9, 'UTC') + "               \
	"intDiv(p, 20) * 60 AS t FROM numbers(4800 * 348))"
#define SQL_QUALITY                                                                               \
	"INSERT INTO profiling_quality SELECT '" SERVICE "', '" TYPE "', t, t + 60, 'node-' || "  \
	"toString(p % 5), 1044, 3, 10000000000, p % 20, map('ring_full', 2), p, map(), map(), "   \
	"map(), map(), 0 "                                                                        \
	"FROM (SELECT number AS p, toDateTime64(1768003200, 9, 'UTC') + intDiv(p, 20) * 60 AS t " \
	"FROM numbers(28800))"
/* The stacks stream past the values, of which there is a table; the other way round costs twice. */
#define SQL_BARE                                                                              \
	"SELECT v, Stack FROM (SELECT Hash, Stack FROM profiling_stacks WHERE "               \
	"ServiceName = '" SERVICE "' AND LastSeen > toDateTime64(%lld, 9, 'UTC') "            \
	"LIMIT 1 BY Hash) AS s JOIN (SELECT StackHash, sum(Value) AS v "                      \
	"FROM profiling_samples WHERE ServiceName = '" SERVICE "' AND Type = '" TYPE "' AND " \
	"Start < toDateTime64(%lld, 9, 'UTC') AND End > toDateTime64(%lld, 9, 'UTC') "        \
	"GROUP BY StackHash) AS t ON s.Hash = t.StackHash"

static struct stack_cache *cache;

static void fill(struct store *store)
{
	bench_run_sql(store, SQL_STACKS);
	/* from the middle of the day before, so that a comparison has another side */
	for (long long hours = -12; hours < 24; hours += 4) {
		char sql[2048];

		snprintf(sql, sizeof(sql), SQL_SAMPLES, hours * 1200);
		bench_run_sql(store, sql);
	}
	bench_run_sql(store, SQL_QUALITY);
	bench_run_sql(store, "OPTIMIZE TABLE profiling_samples FINAL");
}

static double status_mib(const char *key)
{
	FILE *f = fopen("/proc/self/status", "re");
	char line[256];
	double kib = 0;

	while (f && fgets(line, sizeof(line), f))
		if (strncmp(line, key, strlen(key)) == 0)
			kib = strtod(line + strlen(key) + 1, NULL);
	if (f)
		fclose(f);
	return kib / 1024;
}

static void reset_peak(void)
{
	FILE *f = fopen("/proc/self/clear_refs", "we");

	if (!f || fputs("5", f) < 0 || fclose(f) != 0)
		bench_give_up("/proc/self/clear_refs", &(struct err){"cannot be written"});
}

struct cost {
	double wall_ms, cpu_ms, peak_mib;
	size_t bytes;
};

enum kind {
	BARE,
	COLD,
	WARM,
	BASE, /* warm, two sides */
	KIND_MAX,
};

static int answer(struct store *store, enum kind kind, int64_t range_s, struct buf *out,
		  struct err *err)
{
	struct query_request *p = calloc(1, sizeof(*p));
	int r;

	if (!p)
		return -1;
	p->filter = (struct query_filter){
		.service = SERVICE,
		.type = TYPE,
		.from_ns = (BENCH_END_S - range_s) * (int64_t)NS_PER_S,
		.to_ns = BENCH_END_S * (int64_t)NS_PER_S,
		.stacks = kind == COLD ? NULL : cache,
	};
	p->max_nodes = 1000000;
	p->base = p->filter;
	p->base.from_ns -= range_s * (int64_t)NS_PER_S / 2;
	p->base.to_ns = p->filter.from_ns;
	p->has_base = kind == BASE;
	r = profile_query_flamegraph(store, p, out, err);
	free(p);
	return r;
}

static int bare(struct store *store, int64_t range_s, struct buf *out, struct err *err)
{
	char sql[1024];
	struct store_query q = {.sql = sql, .format = "RowBinary"};

	snprintf(sql, sizeof(sql), SQL_BARE, (long long)(BENCH_END_S - range_s),
		 (long long)BENCH_END_S, (long long)(BENCH_END_S - range_s));
	return store_query(store, &q, out, err);
}

static void ask(struct store *store, enum kind kind, int64_t range_s, struct cost *ret)
{
	CLEANUP(buf_fini) struct buf out;
	struct err err = {""};
	double before = status_mib("VmRSS");
	uint64_t wall = clock_monotonic_ns(), cpu = bench_cpu_ns();
	int r;

	buf_init(&out, (size_t)1 << 30);
	reset_peak();
	r = kind == BARE ? bare(store, range_s, &out, &err)
			 : answer(store, kind, range_s, &out, &err);
	if (r < 0)
		bench_give_up("query", &err);
	ret->wall_ms = (double)(clock_monotonic_ns() - wall) / 1e6;
	ret->cpu_ms = (double)(bench_cpu_ns() - cpu) / 1e6;
	ret->peak_mib = status_mib("VmHWM") - before;
	ret->bytes = out.len;
}

static int by_cpu(const void *a, const void *b)
{
	const struct cost *x = a, *y = b;

	return (x->cpu_ms > y->cpu_ms) - (x->cpu_ms < y->cpu_ms);
}

/* Kinds take turns, so that a busy machine is busy for all of them. */
static void compare(struct store *store, int64_t range_s, unsigned rounds)
{
	static const char *const names[KIND_MAX] = {"bare", "cold", "warm", "base"};
	static struct cost costs[KIND_MAX][MAX_ROUNDS];
	struct cost first;

	ask(store, WARM, range_s, &first);
	ask(store, BASE, range_s, &first);
	for (unsigned i = 0; i < rounds; i++)
		for (int kind = 0; kind < KIND_MAX; kind++)
			ask(store, (enum kind)kind, range_s, &costs[kind][i]);
	for (int kind = 0; kind < KIND_MAX; kind++) {
		const struct cost *c = &costs[kind][rounds / 2];

		qsort(costs[kind], rounds, sizeof(costs[kind][0]), by_cpu);
		printf("{\"what\":\"%s\",\"range\":%lld,\"ms\":%.0f,\"cpuMs\":%.0f,"
		       "\"peakMiB\":%.0f,\"bytes\":%zu}\n",
		       names[kind], (long long)range_s, c->wall_ms, c->cpu_ms, c->peak_mib,
		       c->bytes);
	}
}

static void compare_all(struct store *store, unsigned rounds)
{
	struct err err = {""};

	if (stack_cache_new(&cache, LIMIT_STACK_CACHE_BYTES) < 0)
		bench_give_up("cache", &err);
	compare(store, 3600, rounds);
	compare(store, BENCH_DAY_S, rounds);
	stack_cache_free(cache);
}

int main(int argc, char **argv)
{
	const struct bench b = {"query_cost", MAX_ROUNDS, fill, compare_all};

	return bench_main(&b, argc, argv);
}
