/*
 * stack_query() on the embedded engine: two sides, labels, levels, and what is missing. Frames of
 * one query are found in the cache by the next. The environment names libchdb.so as CHDB_LIBRARY.
 */
#include <errno.h>

#include "cluster-agent/query/read/label_matchers.h"
#include "cluster-agent/query/read/stack_cache.h"
#include "cluster-agent/query/read/stack_query.h"
#include "cluster-agent/query/read/timeline_query.h"
#include "cluster-agent/store/store_chdb.h"
#include "common/data/buf.h"
#include "common/system/clock.h"
#include "test/lib/unit.h"

#define CPU "ebpf:cpu:nanoseconds"
#define HEAP "go:heap_inuse_space:bytes"
#define NOON INT64_C(1768046400) /* 2026-01-10 12:00 UTC */

static struct store *store;
static struct stack_cache *cache;

static void run(const char *sql)
{
	struct err err = {""};

	if (store_maintain(store, sql, NULL, &err) < 0)
		fail_msg("%s: %s", sql, err.msg);
}

/*
 * Service a has a profile of 10 s each minute of an hour: stack 1 with value 100, stack 2 with
 * 10 × the minute in version 1.0 (the first half hour) and 1 in 2.0, stack 3 without frames
 * once. Its heap has stack 1 with 600. Service b has stacks 1 and 4. Stack 1 is stored twice.
 * The heap of service c was read once, at a point in time.
 */
static void fill(void)
{
	run("INSERT INTO profiling_stacks SELECT s.1, s.2, toDateTime64('2026-01-10 13:00:00', 9, "
	    "'UTC') + s.4, s.3 FROM (SELECT arrayJoin([('a', 1, ['leaf a.c:1', 'main a.c:3'], 0), "
	    "('a', 1, ['leaf a.c:1', 'main a.c:3'], 86400), ('a', 2, ['odd a.c:2', 'main a.c:3'], "
	    "0), ('b', 1, ['leaf a.c:1', 'main a.c:3'], 0), ('b', 4, ['only_b b.c:1'], 0)]) AS s)");
	run("INSERT INTO profiling_samples SELECT 'a', '" CPU "', t, t + 10, "
	    "map('host.name', 'n', 'version', if(m < 30, '1.0', '2.0'), 'pod', 'it''s \\\\'), s, "
	    "if(s = 1, 100, if(m < 30, 10, 1)) FROM (SELECT number % 2 + 1 AS s, "
	    "intDiv(number, 2) AS m, toDateTime64('2026-01-10 12:00:00', 9, 'UTC') + m * 60 AS t "
	    "FROM numbers(120))");
	run("INSERT INTO profiling_samples SELECT 'a', '" CPU "', t, t + 10, map(), 3, 7 FROM "
	    "(SELECT toDateTime64('2026-01-10 12:59:00', 9, 'UTC') AS t)");
	run("INSERT INTO profiling_samples SELECT 'a', '" HEAP "', t, t + 30, "
	    "map('host.name', 'n', 'pod', 'p'), 1, 600 * (1 + m) FROM (SELECT number AS m, "
	    "toDateTime64('2026-01-10 12:00:00', 9, 'UTC') + m * 1800 AS t FROM numbers(2))");
	run("INSERT INTO profiling_samples SELECT 'b', '" CPU "', t, t + 10, map('version', '3'), "
	    "s, s * 5 FROM (SELECT arrayJoin([1, 4]) AS s, "
	    "toDateTime64('2026-01-10 12:00:00', 9, 'UTC') AS t)");
	run("INSERT INTO profiling_samples SELECT 'c', '" HEAP "', t, t, map(), 4, 700 FROM "
	    "(SELECT toDateTime64('2026-01-10 12:10:00', 9, 'UTC') AS t)");
	run("INSERT INTO profiling_quality SELECT 'a', '" CPU "', t, t + 10, 'n', 20, 1, 100, 0, "
	    "map('ring_full', 2), 1, map(), map('complete', 19, 'jit', 1, 'seen:a', 7), map(), "
	    "map(), 0 FROM "
	    "(SELECT toDateTime64('2026-01-10 12:00:00', 9, 'UTC') + number * 1800 AS t "
	    "FROM numbers(2))");
	/* a minute each: three instances, of which the first ends after 20 minutes */
	run("INSERT INTO profiling_quality SELECT 'jvms', '" CPU "', t, t + 60, 'n', 20, 0, 1, i, "
	    "map(), 1, multiIf(i = 1, map('java:off', 5), i = 3, map('java:profiled', 1), "
	    "m < 55, map('java:waiting', 2), map('java:profiled', 1, 'java:off', 1)), map(), "
	    "map(), "
	    "map('container.id', 'c' || toString(i)), i "
	    "FROM (SELECT arrayJoin([1, 2, 3]) AS i, number AS m, "
	    "toDateTime64('2026-01-10 12:00:00', 9, 'UTC') + m * 60 AS t FROM numbers(60)) "
	    "WHERE i != 1 OR m < 20");
	run("INSERT INTO profiling_quality SELECT 'jvms', '" HEAP "', t, t + 60, 'n', 1, 0, 1, 9, "
	    "map(), 1, map('java:failed', 7), map(), map(), map('container.id', 'c9'), 9 "
	    "FROM (SELECT toDateTime64('2026-01-10 12:59:30', 9, 'UTC') AS t)");
}

static int start(void **state)
{
	struct store_chdb_config cfg = {temp_dir(), UINT64_C(3650) * 86400 * NS_PER_S,
					getenv("CHDB_LIBRARY")};
	struct err err = {""};

	(void)state;
	if (stack_cache_new(&cache, 64 << 20) < 0 || store_chdb_open(&store, &cfg, &err) < 0) {
		fprintf(stderr, "%s\n", err.msg);
		return -1;
	}
	fill();
	return 0;
}

static int stop(void **state)
{
	(void)state;
	store_close(store);
	stack_cache_free(cache);
	return 0;
}

static struct query_filter filter(const char *service, const char *type, int from_min, int to_min)
{
	return (struct query_filter){
		.service = service,
		.type = type,
		.from_ns = (NOON + from_min * 60) * (int64_t)NS_PER_S,
		.to_ns = (NOON + to_min * 60) * (int64_t)NS_PER_S,
		.stacks = cache,
	};
}

static int print(void *ctx, const struct flame_frame *frames, size_t n_frames, struct stack_value v)
{
	int r = buf_addf(ctx, "%lld|%lld", (long long)v.value, (long long)v.base);

	for (size_t i = 0; i < n_frames && r == 0; i++)
		r = buf_addf(ctx, "|%.*s", (int)frames[i].len, frames[i].text);
	return r == 0 ? buf_addf(ctx, "\n") : r;
}

/* expected has "value|base|leaf|…|root" per stack, largest first. */
static struct stack_query_result
assert_stacks(const struct query_filter *f, const struct query_filter *base, const char *expected)
{
	CLEANUP(buf_fini) struct buf b;
	struct stack_query_result ret;
	struct err err = {""};

	buf_init(&b, 100000);
	if (stack_query(store, (struct query_sides){f, base}, print, &b, &ret, &err) < 0)
		fail_msg("%s", err.msg);
	assert_string_equal(b.data ? b.data : "", expected);
	assert_int_equal(ret.n_stacks_cut, 0);
	assert_int_equal(ret.cut.value, 0);
	assert_int_equal(ret.cut.base, 0);
	return ret;
}

TEST(one_side_has_frames_totals_and_quality)
{
	const struct query_filter f = filter("a", CPU, 0, 60);
	struct stack_query_result r;

	r = assert_stacks(&f, NULL,
			  "6000|0|leaf a.c:1|main a.c:3\n"
			  "330|0|odd a.c:2|main a.c:3\n"
			  "7|0|" STACK_QUERY_MISSING "\n");
	assert_int_equal(r.n_stacks, 3);
	assert_int_equal(r.total.value, 6337);
	assert_int_equal(r.quality.n_samples, 40);
	assert_int_equal(r.quality.lost.total, 4);
	assert_string_equal(r.quality.lost.items[0].name, "ring_full");
	assert_int_equal(r.base_quality.n_samples, 0);
	/* the largest first */
	assert_int_equal(r.quality.unwinding.n, 3);
	assert_string_equal(r.quality.unwinding.items[0].name, "complete");
	assert_int_equal(r.quality.unwinding.items[0].count, 38);
	assert_string_equal(r.quality.unwinding.items[1].name, "seen:a");
	assert_int_equal(r.quality.unwinding.items[2].count, 2);
	assert_int_equal(r.base_quality.unwinding.n, 0);
}

static uint64_t count_of(const struct quality_counts *c, const char *name)
{
	for (size_t i = 0; i < c->n; i++) {
		if (strcmp(c->items[i].name, name) == 0)
			return c->items[i].count;
	}
	return 0;
}

TEST(states_are_those_of_the_instances_at_the_end)
{
	struct query_filter all = filter("jvms", HEAP, 0, 60), early = filter("jvms", CPU, 0, 18);
	struct stack_query_result r = assert_stacks(&all, &early, "");
	const struct query_filter none = filter("a", CPU, 0, 60);

	assert_int_equal(r.quality.runtimes.n, 2);
	assert_int_equal(count_of(&r.quality.runtimes, "java:profiled"), 2);
	assert_int_equal(count_of(&r.quality.runtimes, "java:off"), 1);
	assert_int_equal(r.base_quality.runtimes.n, 3);
	assert_int_equal(count_of(&r.base_quality.runtimes, "java:profiled"), 1);
	assert_int_equal(count_of(&r.base_quality.runtimes, "java:waiting"), 2);
	assert_int_equal(count_of(&r.base_quality.runtimes, "java:off"), 5);
	r = assert_stacks(&none, NULL,
			  "6000|0|leaf a.c:1|main a.c:3\n"
			  "330|0|odd a.c:2|main a.c:3\n"
			  "7|0|" STACK_QUERY_MISSING "\n");
	assert_int_equal(r.quality.runtimes.n, 0);
}

static struct quality quality_of_type(const char *service, const char *type, const char *instance,
				      const char *where)
{
	struct query_filter f = filter(service, type, 0, 60);
	struct label_matchers m;
	struct quality q;
	struct err err = {""};

	f.instance = instance;
	f.where = &m;
	assert_int_equal(label_matchers_parse(&m, where, &err), 0);
	if (quality_query(store, &f, &q, &err) < 0)
		fail_msg("%s", err.msg);
	return q;
}

static struct quality quality_of(const char *service, const char *instance, const char *where)
{
	return quality_of_type(service, CPU, instance, where);
}

/*
 * What is scraped has the id of its container since it is known, and before, as what Coroot's
 * agent scrapes, no more than its pod.
 */
TEST(an_instance_is_chosen_by_any_of_its_names)
{
	static const struct {
		const char *instance;
		uint64_t n;
	} cases[] = {
		{"/k8s/shop/q-0/app", 1},    {"shop/q-0", 1 + 10},       {"shop/q-0@n", 1 + 10},
		{"/k8s/shop/q-1/app", 100},  {"shop/q-1", 100},          {"shop/q-1@n", 100},
		{"/k8s/shop/q-0/proxy", 10}, {"/k8s/shop/q-0/other", 0}, {"shop/q", 0},
		{"/k8s/shop/q-0/app@n", 1},  {"/k8s/shop/q-0/app@m", 0},
	};

	run("INSERT INTO profiling_quality SELECT 'named', '" HEAP "', t, t + 60, 'n', n, 0, n, 1, "
	    "map(), 1, map(), map(), map(), labels, n FROM (SELECT "
	    "toDateTime64('2026-01-10 12:00:00', 9, 'UTC') AS t, arrayJoin(["
	    "(1, map('container.id', '/k8s/shop/q-0/app', 'namespace', 'shop', 'pod', 'q-0', "
	    "'node', 'n')), "
	    "(10, map('container.id', '/k8s/shop/q-0/proxy', 'namespace', 'shop', 'pod', 'q-0', "
	    "'node', 'n')), "
	    "(100, map('namespace', 'shop', 'pod', 'q-1', 'node', 'n'))]) AS one, "
	    "one.1 AS n, one.2 AS labels)");
	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		struct quality q = quality_of_type("named", HEAP, cases[i].instance, "");

		if (q.n_samples != cases[i].n)
			fail_msg("%s: %llu", cases[i].instance, (unsigned long long)q.n_samples);
	}
}

/* Pod i of 4, on two nodes, has 100 samples; those of the last one are broken. */
static void fill_pods(void)
{
	run("INSERT INTO profiling_quality SELECT 'pods', '" CPU "', t, t + 60, 'n' || "
	    "toString(i % 2), 100, if(i = 3, 90, 0), 1, i, map('ring_full', 5), 1, "
	    "map('java:off', 1), map('complete', 100 - if(i = 3, 90, 0)), map(), "
	    "map('container.id', '/k8s/shop/p-' || toString(i) || '/app', 'host.name', 'n' || "
	    "toString(i % 2), 'version', if(i < 2, '1.0', '2.0')), i + 1 FROM (SELECT number AS i, "
	    "toDateTime64('2026-01-10 12:00:00', 9, 'UTC') AS t FROM numbers(4))");
}

TEST(completeness_is_that_of_the_selection)
{
	struct quality q;

	fill_pods();
	q = quality_of("pods", NULL, "");
	assert_int_equal(q.n_samples, 400);
	assert_int_equal(q.n_truncated, 90);
	assert_int_equal(q.lost.total, 10);
	assert_false(q.of_all);
	q = quality_of("pods", "/k8s/shop/p-3/app", "");
	assert_int_equal(q.n_samples, 100);
	assert_int_equal(q.n_truncated, 90);
	assert_int_equal(q.lost.total, 5);
	assert_int_equal(count_of(&q.unwinding, "complete"), 10);
	assert_int_equal(count_of(&q.runtimes, "java:off"), 1);
	assert_false(q.of_all);
	q = quality_of("pods", "shop/p-3", "");
	assert_int_equal(q.n_truncated, 90);
	q = quality_of("pods", "/k8s/shop/p-3/app@n0", "");
	assert_int_equal(q.n_samples, 0);
	q = quality_of("pods", NULL, "host.name=\"n0\"");
	assert_int_equal(q.n_samples, 200);
	assert_int_equal(q.n_truncated, 0);
	q = quality_of("pods", NULL, "version=~\"2.*\",host.name!=\"n0\"");
	assert_int_equal(q.n_samples, 100);
	assert_int_equal(q.n_truncated, 90);
	q = quality_of("pods", NULL, "version=\"3.0\"");
	assert_int_equal(q.n_samples, 0);
	assert_false(q.of_all);
}

/* Those of service a have no labels. */
TEST(completeness_without_labels_is_said_to_be_that_of_all)
{
	struct quality q = quality_of("a", NULL, "version=\"1.0\"");

	assert_true(q.of_all);
	assert_int_equal(q.n_samples, 40);
	assert_int_equal(q.n_truncated, 2);
	assert_false(quality_of("a", NULL, "").of_all);
}

TEST(each_side_has_its_own_completeness)
{
	struct query_filter f = filter("pods", CPU, 0, 60), base = f;
	struct stack_query_result r;

	f.instance = "/k8s/shop/p-3/app";
	base.instance = "/k8s/shop/p-0/app";
	r = assert_stacks(&f, &base, "");
	assert_int_equal(r.quality.n_truncated, 90);
	assert_int_equal(r.base_quality.n_samples, 100);
	assert_int_equal(r.base_quality.n_truncated, 0);
}

TEST(two_ranges_may_be_apart_or_overlap)
{
	const struct query_filter late = filter("a", CPU, 30, 60), early = filter("a", CPU, 0, 30);
	const struct query_filter all = filter("a", CPU, 0, 60), none = filter("a", CPU, 90, 99);
	struct stack_query_result r;

	r = assert_stacks(&late, &early,
			  "3000|3000|leaf a.c:1|main a.c:3\n"
			  "30|300|odd a.c:2|main a.c:3\n"
			  "7|0|" STACK_QUERY_MISSING "\n");
	assert_int_equal(r.total.value, 3037);
	assert_int_equal(r.total.base, 3300);
	assert_int_equal(r.quality.n_samples, 20);
	assert_int_equal(r.base_quality.n_samples, 20);
	assert_stacks(&late, &all,
		      "3000|6000|leaf a.c:1|main a.c:3\n"
		      "30|330|odd a.c:2|main a.c:3\n"
		      "7|7|" STACK_QUERY_MISSING "\n");
	assert_stacks(&none, &early,
		      "0|3000|leaf a.c:1|main a.c:3\n"
		      "0|300|odd a.c:2|main a.c:3\n");
	assert_stacks(&none, &none, "");
}

/* A profile a minute; "step" takes four times as much from the sixth on. */
TEST(borders_of_a_comparison_are_ends_of_profiles)
{
	struct query_filter f = filter("d", CPU, 5, 10), base = filter("d", CPU, 0, 5);
	struct stack_query_result ret;

	run("INSERT INTO profiling_stacks SELECT 'd', s.1, toDateTime64('2026-01-10 13:00:00', 9, "
	    "'UTC'), s.2 FROM (SELECT arrayJoin([(7, ['same d.c:1']), (8, ['step d.c:2'])]) AS s)");
	run("INSERT INTO profiling_samples SELECT 'd', '" CPU "', t, t + 60, map(), s, "
	    "if(s = 7, 100, if(m < 5, 10, 40)) FROM (SELECT number % 2 + 7 AS s, intDiv(number, 2) "
	    "AS m, toDateTime64('2026-01-10 12:00:00', 9, 'UTC') + m * 60 AS t FROM numbers(20))");
	/* the step was found three seconds too early, and the base begins before all profiles */
	f.from_ns -= 3 * (int64_t)NS_PER_S;
	base.to_ns = f.from_ns;
	base.from_ns -= 6 * (int64_t)NS_PER_S;
	ret = assert_stacks(&f, &base, "500|500|same d.c:1\n200|50|step d.c:2\n");
	assert_int_equal(ret.ranges[0].from_ns, f.from_ns + 3 * (int64_t)NS_PER_S);
	assert_int_equal(ret.ranges[1].to_ns, ret.ranges[0].from_ns);
	assert_int_equal(ret.ranges[1].from_ns, base.from_ns);
	/* less than a profile stays what it is, and has as much of its values; none gets lost */
	f.to_ns = f.from_ns + (int64_t)NS_PER_S;
	ret = assert_stacks(&f, &base, "2|500|same d.c:1\n1|50|step d.c:2\n");
	assert_int_equal(ret.ranges[0].to_ns, f.to_ns);
	/* and so does a selection alone: it has all that overlaps it */
	f = filter("d", CPU, 5, 10);
	f.from_ns -= 3 * (int64_t)NS_PER_S;
	assert_stacks(&f, NULL, "600|0|same d.c:1\n210|0|step d.c:2\n");
}

TEST(another_service_may_be_the_base)
{
	const struct query_filter f = filter("a", CPU, 0, 1), base = filter("b", CPU, 0, 60);

	assert_stacks(&f, &base,
		      "100|5|leaf a.c:1|main a.c:3\n"
		      "0|20|only_b b.c:1\n"
		      "10|0|odd a.c:2|main a.c:3\n");
}

TEST(a_level_is_averaged_over_the_time_of_its_side)
{
	const struct query_filter f = filter("a", HEAP, 0, 60), base = filter("a", HEAP, 0, 30);

	/* profiles of 600 and 1200 cover 30 s each */
	assert_stacks(&f, &base, "900|600|leaf a.c:1|main a.c:3\n");
}

#define FORTNIGHT (14 * 24 * 60)

TEST(little_in_a_long_range_keeps_its_value)
{
	struct query_filter f = filter("a", HEAP, -FORTNIGHT, FORTNIGHT);
	struct timeline_step steps[300];
	struct timeline t = {.from_ns = f.from_ns,
			     .step_ns = (f.to_ns - f.from_ns) / 300,
			     .n_steps = 300,
			     .aggregation = PROFILE_AGGREGATION_SUM,
			     .steps = steps};
	struct timeline_instances instances;
	struct err err = {""};
	double most = 0;

	assert_stacks(&f, NULL, "900|0|leaf a.c:1|main a.c:3\n");
	f.service = "c";
	assert_stacks(&f, NULL, "700|0|" STACK_QUERY_MISSING "\n");
	/* 25 in 10 s */
	f.service = "b";
	f.type = CPU;
	assert_int_equal(timeline_query(store, &f, &t, &err), 0);
	for (size_t i = 0; i < ARRAY_SIZE(steps); i++)
		most = steps[i].value > most ? steps[i].value : most;
	assert_float_equal(most, 2.5, 1e-9);
	assert_int_equal(timeline_query_instances(store, &f, &t, &instances, &err), 0);
	assert_int_equal(instances.n_items, 1);
	assert_float_equal(instances.items[0].value, 2.5, 1e-9);
	timeline_instances_fini(&instances);
}

static void assert_odd_value(const char *where, const char *base_where, int64_t value, int64_t base)
{
	struct query_filter f = filter("a", CPU, 0, 60), b = f;
	struct stack_query_result r;
	CLEANUP(buf_fini) struct buf out;
	struct label_matchers m, base_m;
	struct err err = {""};

	buf_init(&out, 10000);
	assert_int_equal(label_matchers_parse(&m, where, &err), 0);
	assert_int_equal(label_matchers_parse(&base_m, base_where, &err), 0);
	f.where = &m;
	b.where = &base_m;
	if (stack_query(store, (struct query_sides){&f, &b}, print, &out, &r, &err) < 0)
		fail_msg("%s: %s", where, err.msg);
	assert_int_equal(r.total.value, value);
	assert_int_equal(r.total.base, base);
}

TEST(labels_select_on_each_side)
{
	assert_odd_value("version=\"1.0\"", "version=\"2.0\"", 3300, 3030);
	assert_odd_value("version!=\"1.0\"", "version=\"\"", 3037, 7);
	assert_odd_value("version=~\"[12]\\\\.0\"", "version=~\"1\"", 6330, 0);
	assert_odd_value("version!~\"1.*\"", "version!~\".*|x\"", 3037, 0);
	assert_odd_value("version=~\"1.*\",host.name=\"n\"", "version=~\"1.*\",host.name!=\"n\"",
			 3300, 0);
	/* text of the reader is neither SQL nor an escape */
	assert_odd_value("pod=\"it's \\\\\"", "pod=~\"it's .\"", 6330, 6330);
	assert_odd_value("\"x'] = '' OR 1 OR '{to:Int64}\"=\"1\"", "", 0, 6337);
}

static void assert_wrong_expression(const char *where, const char *why)
{
	struct query_filter f = filter("a", CPU, 0, 60);
	CLEANUP(buf_fini) struct buf out;
	struct stack_query_result r;
	struct label_matchers m;
	struct err err = {""};
	char expected[200];

	buf_init(&out, 10000);
	assert_int_equal(label_matchers_parse(&m, where, &err), 0);
	f.where = &m;
	assert_int_equal(stack_query(store, (struct query_sides){&f, NULL}, print, &out, &r, &err),
			 -EINVAL);
	snprintf(expected, sizeof(expected),
		 "a regular expression of the label matchers is invalid: %s", why);
	assert_string_equal(err.msg, expected);
}

TEST(an_invalid_expression_is_the_readers_fault)
{
	assert_wrong_expression("version=~\"1(\"", "missing ): ^1(");
	/* in parentheses two of these would be valid, and match anything */
	assert_wrong_expression("version=~\"x)|(.*\"", "unexpected ): ^x)|(.*");
	assert_wrong_expression("version=~\"x)\"", "unexpected ): ^x)");
	assert_wrong_expression("version!~\"x)|(?:.*\"", "unexpected ): ^x)|(?:.*");
}

TEST(frames_that_come_late_are_found)
{
	const struct query_filter f = filter("late", CPU, 0, 60);

	run("INSERT INTO profiling_samples SELECT 'late', '" CPU "', t, t + 10, map(), 9, 7 FROM "
	    "(SELECT toDateTime64('2026-01-10 12:00:00', 9, 'UTC') AS t)");
	assert_stacks(&f, NULL, "7|0|" STACK_QUERY_MISSING "\n");
	run("INSERT INTO profiling_stacks SELECT 'late', 9, "
	    "toDateTime64('2026-01-10 13:00:00', 9, 'UTC'), ['leaf a.c:1', 'main a.c:3']");
	assert_stacks(&f, NULL, "7|0|leaf a.c:1|main a.c:3\n");
}

#define MANY INT64_C(210000)
#define BEYOND (MANY - STACK_QUERY_MAX_STACKS)
#define SUM_TO(n) ((n) * ((n) + 1) / 2)

/* Stack i of 1 to MANY has the frame "f<i> a.c:1" and value i; the first 1000 have base 5. */
static void fill_many(void)
{
	run("INSERT INTO profiling_stacks SELECT 'many', cityHash64(number), "
	    "toDateTime64('2026-01-10 13:00:00', 9, 'UTC'), "
	    "[concat('f', toString(number), ' a.c:1'), 'main a.c:3'] FROM numbers(1, 210000)");
	run("INSERT INTO profiling_samples SELECT 'many', '" CPU "', t, t + 10, map(), "
	    "cityHash64(number), number FROM (SELECT number, "
	    "toDateTime64('2026-01-10 12:00:00', 9, 'UTC') AS t FROM numbers(1, 210000))");
	run("INSERT INTO profiling_samples SELECT 'many', '" CPU "', t, t + 10, map(), "
	    "cityHash64(number), 5 FROM (SELECT number, "
	    "toDateTime64('2026-01-10 12:30:00', 9, 'UTC') AS t FROM numbers(1, 1000))");
}

struct many {
	size_t n;
	struct stack_value sum;
};

static int count(void *ctx, const struct flame_frame *frames, size_t n_frames, struct stack_value v)
{
	struct many *m = ctx;
	char expected[64];
	int len = snprintf(expected, sizeof(expected), "f%lld a.c:1", (long long)v.value);

	if (n_frames != 2 || frames[0].len != (size_t)len ||
	    memcmp(frames[0].text, expected, (size_t)len) != 0)
		fail_msg("value %s has the frames of another: %.*s", expected, (int)frames[0].len,
			 frames[0].text);
	m->n++;
	m->sum.value += v.value;
	m->sum.base += v.base;
	return 0;
}

static struct stack_query_result assert_many(const struct query_filter *base)
{
	const struct query_filter f = filter("many", CPU, 0, 10);
	struct stack_query_result r;
	struct many m = {0};
	struct err err = {""};

	if (stack_query(store, (struct query_sides){&f, base}, count, &m, &r, &err) < 0)
		fail_msg("%s", err.msg);
	assert_int_equal(r.n_stacks, MANY);
	assert_int_equal(r.n_stacks_cut, BEYOND);
	assert_int_equal(m.n, STACK_QUERY_MAX_STACKS);
	assert_int_equal(r.total.value, SUM_TO(MANY));
	assert_int_equal(m.sum.value, r.total.value - r.cut.value);
	assert_int_equal(m.sum.base, r.total.base - r.cut.base);
	return r;
}

TEST(what_is_beyond_the_largest_is_cut_and_counted)
{
	const struct query_filter base = filter("many", CPU, 30, 40);
	struct stack_query_result r;

	fill_many();
	r = assert_many(NULL);
	assert_int_equal(r.cut.value, SUM_TO(BEYOND));
	/* the first of the base are large there, so those after them are cut */
	r = assert_many(&base);
	assert_int_equal(r.n_base_stacks, 1000);
	assert_int_equal(r.total.base, 5000);
	assert_int_equal(r.cut.value, SUM_TO(BEYOND + 1000) - SUM_TO(INT64_C(1000)));
	assert_int_equal(r.cut.base, 0);
}

struct smallest {
	size_t n;
	int64_t value;
};

static int find_smallest(void *ctx, const struct flame_frame *frames, size_t n_frames,
			 struct stack_value v)
{
	struct smallest *m = ctx;

	assert_int_equal(n_frames, 1);
	assert_true(frames[0].len > 1000000);
	m->n++;
	m->value = v.value < m->value ? v.value : m->value;
	return 0;
}

/* 100 stacks of values 1 to 100, whose texts of a megabyte each exceed the memory for texts. */
TEST(of_stacks_too_large_for_memory_the_largest_stay)
{
	const struct query_filter f = filter("huge", CPU, 0, 10);
	struct stack_query_result r;
	struct smallest m = {.value = INT64_MAX};
	struct err err = {""};

	run("INSERT INTO profiling_stacks SELECT 'huge', cityHash64(number), "
	    "toDateTime64('2026-01-10 13:00:00', 9, 'UTC'), "
	    "[concat(toString(number), repeat('x', 1000000))] FROM numbers(1, 100)");
	run("INSERT INTO profiling_samples SELECT 'huge', '" CPU "', t, t + 10, map(), "
	    "cityHash64(number), number FROM (SELECT number, "
	    "toDateTime64('2026-01-10 12:00:00', 9, 'UTC') AS t FROM numbers(1, 100))");
	if (stack_query(store, (struct query_sides){&f, NULL}, find_smallest, &m, &r, &err) < 0)
		fail_msg("%s", err.msg);
	assert_int_equal(r.total.value, SUM_TO(INT64_C(100)));
	assert_in_range(m.n, 32, 67);
	assert_int_equal(m.value, 101 - (int64_t)m.n);
	assert_int_equal(r.n_stacks_cut, 100 - m.n);
	assert_int_equal(r.cut.value, SUM_TO(INT64_C(100) - (int64_t)m.n));
}

GROUP_FIXTURE(start, stop)
