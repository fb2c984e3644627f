/*
 * Ranges of days, of which the store has added up most (projections.h): answers are those
 * of the samples. Service "whole" has a row in profiling_quality for each of its profiles, "bare"
 * has the same samples and none, so that it is read as before. "scraped" has a scraped CPU profile
 * only, of which movers take the gaps into account. The environment names libchdb.so as
 * CHDB_LIBRARY.
 */
#include <math.h>

#include "cluster-agent/query/profile_query.h"
#include "cluster-agent/query/read/mover_query.h"
#include "cluster-agent/query/read/profile_source.h"
#include "cluster-agent/query/read/timeline_groups.h"
#include "cluster-agent/query/read/timeline_query.h"
#include "cluster-agent/store/rowbinary.h"
#include "cluster-agent/store/store_chdb.h"
#include "common/system/clock.h"
#include "test/lib/unit.h"

#define FIRST INT64_C(1768046400) /* 2026-01-10 12:00 UTC */
#define DAY INT64_C(86400)

static const char *const types[] = {"ebpf:cpu:nanoseconds", "go_runtime:heap_inuse_space:bytes",
				    "go:profile_cpu:nanoseconds", "go:heap_inuse_space:bytes"};

static struct store *store;

static void run(const char *sql)
{
	struct err err = {""};

	if (store_maintain(store, sql, NULL, &err) < 0)
		fail_msg("%s: %s", sql, err.msg);
}

/*
 * Ten days of four instances, which have a profile of 47 s or 10 s every 11 minutes, out of step,
 * with three stacks. Their version changes, and one of them comes late.
 */
#define LABELS                                                                              \
	"map('container.id', '/k8s/shop/p-' || toString(i) || '/app', 'host.name', 'n' || " \
	"toString(i % 2), 'namespace', 'shop', 'pod', 'p-' || toString(i), 'version', "     \
	"if(k + 100 * i < 700, '1.0', '2.0'))"
#define PROFILES                                                                               \
	"(SELECT number % 4 AS i, intDiv(number, 4) AS k, arrayJoin(['ebpf:cpu:nanoseconds', " \
	"'go_runtime:heap_inuse_space:bytes', 'go:profile_cpu:nanoseconds', "                  \
	"'go:heap_inuse_space:bytes']) AS type, toDateTime64(1768046400, 9, 'UTC') + "         \
	"k * 660 + i * 17.123 AS t, t + if(k % 3 = 0, 47, 10) AS stop "                        \
	"FROM numbers(5200) WHERE i != 3 OR k > 600)"

static void fill(void)
{
	run("INSERT INTO profiling_samples SELECT arrayJoin(['whole', 'bare']), type, t, "
	    "stop, " LABELS ", s, 1000000 * (1 + (k * 7 + i * 3 + s) % 11) FROM " PROFILES
	    " ARRAY JOIN [1, 2, 3] AS s");
	run("INSERT INTO profiling_quality SELECT 'whole', type, t, stop, 'n' || toString(i % 2), "
	    "3, 0, arraySum(s -> 1000000 * (1 + (k * 7 + i * 3 + s) % 11), [1, 2, 3]), i + 1, "
	    "map(), k * 4 + i, map(), map(), map(), " LABELS ", cityHash64(" LABELS
	    ") FROM " PROFILES);
	run("INSERT INTO profiling_samples SELECT 'scraped', Type, Start, End, Labels, StackHash, "
	    "Value FROM profiling_samples WHERE ServiceName = 'whole' AND Type = "
	    "'go:profile_cpu:nanoseconds'");
	run("INSERT INTO profiling_quality SELECT * REPLACE('scraped' AS ServiceName) FROM "
	    "(SELECT * FROM profiling_quality WHERE ServiceName = 'whole' AND Type = "
	    "'go:profile_cpu:nanoseconds')");
	run("INSERT INTO profiling_stacks SELECT arrayJoin(['whole', 'scraped']), number, "
	    "toDateTime64(1769000000, 9, 'UTC'), ['leaf' || toString(number) || ' a.c:1', "
	    "'main a.c:9'] FROM numbers(1, 3)");
}

static int start(void **state)
{
	struct store_chdb_config cfg = {temp_dir(), UINT64_C(3650) * 86400 * NS_PER_S,
					getenv("CHDB_LIBRARY")};
	struct err err = {""};

	(void)state;
	if (store_chdb_open(&store, &cfg, &err) < 0) {
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
	return 0;
}

/* What is asked of either service. */
struct question {
	const char *type;
	int64_t from_s; /* since FIRST */
	int64_t to_s;
	const char *instance;
	const char *where;
	const char *by;
};

typedef int (*query_fn)(struct store *s, const struct query_request *p, struct buf *out,
			struct err *err);

static void ask(query_fn fn, const struct question *q, const char *service, struct buf *out)
{
	struct query_request *p = calloc(1, sizeof(*p));
	struct err err = {""};

	assert_non_null(p);
	p->filter = (struct query_filter){.service = service,
					  .type = q->type,
					  .instance = q->instance,
					  .from_ns = (FIRST + q->from_s) * (int64_t)NS_PER_S,
					  .to_ns = (FIRST + q->to_s) * (int64_t)NS_PER_S};
	p->n_points = 60;
	p->limit = 3;
	p->label = q->by;
	assert_int_equal(label_matchers_parse(&p->where, q->where ? q->where : "", &err), 0);
	p->filter.where = &p->where;
	buf_init(out, 10000000);
	if (fn(store, p, out, &err) < 0)
		fail_msg("%s", err.msg);
	free(p);
}

static bool is_number(char c)
{
	return (c >= '0' && c <= '9') || c == '.' || c == '-' || c == 'e' || c == '+';
}

/* Sums of floats depend on their order, and windows are merged differently. */
static void assert_same(const char *a, const char *b, double tolerance)
{
	const char *all_a = a, *all_b = b;

	while (*a && *b) {
		char *end_a, *end_b;
		double x, y;

		if (!is_number(*a) || !is_number(*b)) {
			if (*a++ != *b++)
				fail_msg("%s\n%s", all_a, all_b);
			continue;
		}
		x = strtod(a, &end_a);
		y = strtod(b, &end_b);
		if (fabs(x - y) > tolerance * fmax(fabs(x), fabs(y)))
			fail_msg("%g instead of %g\n%s\n%s", x, y, all_a, all_b);
		a = end_a > a ? end_a : a + 1;
		b = end_b > b ? end_b : b + 1;
	}
	assert_int_equal(*a, *b);
}

static void compare(query_fn fn, const struct question *q, double tolerance)
{
	CLEANUP(buf_fini) struct buf whole;
	CLEANUP(buf_fini) struct buf bare;

	ask(fn, q, "whole", &whole);
	ask(fn, q, "bare", &bare);
	assert_true(whole.len > 0);
	assert_same(whole.data, bare.data, tolerance);
}

/* Borders within hours, minutes and profiles, and none. */
static const int64_t ranges[][2] = {{-DAY, 3 * DAY}, {1200, 3600 * 5}, {12345, 6 * DAY + 2}};

/* Each type and range with one of three filters. */
static void check_all(query_fn fn, const char *by)
{
	for (size_t t = 0; t < ARRAY_SIZE(types); t++) {
		for (size_t i = 0; i < ARRAY_SIZE(ranges); i++) {
			struct question q = {types[t], ranges[i][0], ranges[i][1], NULL, NULL, by};

			if ((t + i) % 3 == 1)
				q.where = "version=\"1.0\",host.name=~\"n.*\"";
			if ((t + i) % 3 == 2)
				q.instance = strncmp(q.type, "go:", 3) == 0 ? "shop/p-1"
									    : "/k8s/shop/p-1/app";
			compare(fn, &q, 1e-9);
		}
	}
}

TEST(labels_are_those_of_the_samples)
{
	check_all(profile_query_labels, NULL);
}

TEST(heatmaps_are_those_of_the_samples)
{
	check_all(profile_query_heatmap, NULL);
	check_all(profile_query_heatmap, "version");
}

/* Profiles of 47, 10 and 10 s, 11 minutes apart. */
TEST(steps_of_a_heatmap_are_not_shorter_than_what_a_profile_stands_for)
{
	static const struct question questions[] = {
		{types[0], 1200, 1500, NULL, NULL, NULL},
		{types[2], 1200, 16800, NULL, NULL, NULL},
	};
	static const char *const has[] = {"\"stepMs\":10000,", "\"stepMs\":900000,"};

	for (size_t i = 0; i < ARRAY_SIZE(questions); i++) {
		CLEANUP(buf_fini) struct buf out;

		ask(profile_query_heatmap, &questions[i], "whole", &out);
		if (!strstr(out.data, has[i]) || !strstr(out.data, "\"profileMs\":"))
			fail_msg("%s", out.data);
	}
}

TEST(timelines_and_their_series_are_those_of_the_samples)
{
	check_all(profile_query_timeline, "version");
	compare(profile_query_timeline,
		&(struct question){types[0], 17, DAY, NULL, NULL, "instance"}, 1e-9);
	compare(profile_query_timeline,
		&(struct question){types[3], 17, DAY, NULL, NULL, "instance"}, 1e-9);
}

/* Steps are of hours, and windows that are merged are at most two minutes. */
TEST(timelines_of_weeks_are_those_of_the_samples)
{
	for (size_t t = 0; t < ARRAY_SIZE(types); t++) {
		const struct question q = {types[t], -33, 8 * DAY, NULL, NULL, NULL};

		compare(profile_query_timeline, &q, 0.005);
	}
}

static struct query_filter filter(const char *service)
{
	return (struct query_filter){.service = service,
				     .type = types[0],
				     .from_ns = (FIRST - 5 * DAY) * (int64_t)NS_PER_S,
				     .to_ns = (FIRST + 9 * DAY + 17) * (int64_t)NS_PER_S};
}

TEST(the_time_that_is_covered_is_exact)
{
	const struct query_filter whole = filter("whole"), bare = filter("bare");
	double a = 0, b = 0;
	struct err err = {""};

	assert_int_equal(timeline_query_covered(store, &whole, &a, &err), 0);
	assert_int_equal(timeline_query_covered(store, &bare, &b, &err), 0);
	assert_true(a > 1e13);
	assert_float_equal(a, b, 1);
}

static bool is_whole(const struct query_filter *f, bool labels)
{
	bool ret = false;
	struct err err = {""};

	if (profile_source_is_whole(store, f, labels, &ret, &err) < 0)
		fail_msg("%s", err.msg);
	return ret;
}

/* Profiles without labels, without a row, and of another writer before and after ours. */
TEST(samples_are_read_where_profiles_are_not_known)
{
	struct query_filter f = filter("whole");
	struct label_matchers where = {.n_items = 1, .items = {{"version", "1.0", LABEL_EQUAL}}};

	assert_true(is_whole(&f, true));
	f.service = "bare";
	assert_false(is_whole(&f, false));
	run("INSERT INTO profiling_samples SELECT 'mixed', Type, Start, End, Labels, StackHash, "
	    "Value FROM profiling_samples WHERE ServiceName = 'bare'");
	run("INSERT INTO profiling_quality SELECT 'mixed', Type, Start, End, Host, Samples, "
	    "Truncated, Value, Instance, Lost, Upload, Runtimes, Unwinding, Starts, map(), 0 FROM "
	    "profiling_quality WHERE ServiceName = 'whole'");
	f.service = "mixed";
	assert_true(is_whole(&f, false));
	assert_false(is_whole(&f, true));
	f.where = &where;
	assert_false(is_whole(&f, false));
	f.where = NULL;
	run("INSERT INTO profiling_samples SELECT 'mixed', 'ebpf:cpu:nanoseconds', "
	    "toDateTime64(1768046400, 9, 'UTC') - 60, toDateTime64(1768046400, 9, 'UTC'), map(), "
	    "1, 1");
	assert_false(is_whole(&f, false));
	f.from_ns = FIRST * (int64_t)NS_PER_S;
	assert_true(is_whole(&f, false));
	run("INSERT INTO profiling_samples SELECT 'mixed', 'ebpf:cpu:nanoseconds', t, t + 60, "
	    "map(), 1, 1 FROM (SELECT toDateTime64(1768046400, 9, 'UTC') + 860000 AS t)");
	assert_true(is_whole(&f, false));
	f.to_ns += DAY * (int64_t)NS_PER_S;
	assert_false(is_whole(&f, false));
}

/* Two numbers, for a range that the text names as {from:Int64} and {to:Int64}. */
static void ask_numbers(const char *sql, const int64_t range[2], double ret[2])
{
	CLEANUP(buf_fini) struct buf out;
	char from[32], to[32];
	const struct store_param params[] = {{"from", from}, {"to", to}};
	const struct store_query q = {
		.sql = sql, .params = params, .n_params = 2, .format = "RowBinary"};
	struct rowbinary_reader r;
	struct err err = {""};

	snprintf(from, sizeof(from), "%lld", (long long)((FIRST + range[0]) * (int64_t)NS_PER_S));
	snprintf(to, sizeof(to), "%lld", (long long)((FIRST + range[1]) * (int64_t)NS_PER_S));
	buf_init(&out, 1000000);
	if (store_query(store, &q, &out, &err) < 0)
		fail_msg("%s: %s", err.msg, out.data ? out.data : "");
	rowbinary_reader_init(&r, out.data, out.len);
	ret[0] = rowbinary_get_f64(&r);
	ret[1] = rowbinary_get_f64(&r);
	assert_int_equal(rowbinary_reader_finish(&r), 0);
}

#define IN_RANGE                                           \
	"Start < fromUnixTimestamp64Nano({to:Int64}) AND " \
	"End > fromUnixTimestamp64Nano({from:Int64})"

/* The value of a function by the samples, one by one. */
static double self_of(const char *service, const char *type, const char *leaf,
		      const int64_t range[2])
{
	char sql[512];
	double ret[2];

	snprintf(sql, sizeof(sql),
		 "SELECT sum(toFloat64(Value)), 0. FROM profiling_samples WHERE ServiceName = '%s' "
		 "AND Type = '%s' AND StackHash = %s AND " IN_RANGE,
		 service, type, leaf + strlen("leaf"));
	ask_numbers(sql, range, ret);
	return ret[0];
}

/* Cores with and without the gaps, by the profiles, one by one. */
static void cores_of(const char *service, const char *type, const int64_t range[2], double ret[2])
{
	char sql[2048];

	snprintf(
		sql, sizeof(sql),
		"SELECT sum(w * greatest(least(reach, covered + n * 150e9, span) / covered, 1)) / "
		"any(span), sum(w) / any(span) FROM (SELECT sum(x * own / len) AS w, "
		"sum(own) AS covered, toFloat64(count()) AS n, "
		"(max(a) - min(a)) * n / greatest(n - 1, 1) AS reach, "
		"least(max(max(b)) OVER (), toFloat64({to:Int64})) - "
		"greatest(min(min(a)) OVER (), toFloat64({from:Int64})) AS span FROM (SELECT Host, "
		"Instance, toFloat64(Value) AS x, toFloat64(toUnixTimestamp64Nano(Start)) AS a, "
		"toFloat64(toUnixTimestamp64Nano(End)) AS b, greatest(b - a, 1) AS len, "
		"greatest(least(b, toFloat64({to:Int64})) - greatest(a, toFloat64({from:Int64})), "
		"1) AS own "
		"FROM profiling_quality WHERE ServiceName = '%s' AND Type = '%s' AND " IN_RANGE
		") GROUP BY Host, Instance)",
		service, type);
	ask_numbers(sql, range, ret);
}

static void check_movers(const char *service, const char *type, const int64_t range[2],
			 const int64_t base[2])
{
	const bool gaps = strncmp(type, "go:", 3) == 0;
	const int64_t *const sides[] = {range, base};
	const struct query_filter f = {.service = service,
				       .from_ns = (FIRST + range[0]) * (int64_t)NS_PER_S,
				       .to_ns = (FIRST + range[1]) * (int64_t)NS_PER_S};
	const struct query_filter b = {.from_ns = (FIRST + base[0]) * (int64_t)NS_PER_S,
				       .to_ns = (FIRST + base[1]) * (int64_t)NS_PER_S};
	struct mover_list l = {0};
	struct err err = {""};

	if (mover_query(store, &f, &b, 10, &l, &err) < 0)
		fail_msg("%s", err.msg);
	if (l.n_items != 3)
		fail_msg("%zu movers of %s from %lld", l.n_items, service, (long long)range[0]);
	for (size_t i = 0; i < l.n_items; i++) {
		const struct mover *m = &l.items[i];

		assert_string_equal(m->type, type);
		assert_float_equal((double)m->self, self_of(service, type, m->name, range), 1);
		assert_float_equal((double)m->base_self, self_of(service, type, m->name, base), 1);
	}
	for (int side = 0; side < 2; side++) {
		double cores[2];

		cores_of(service, type, sides[side], cores);
		assert_true(cores[!gaps] > 0);
		assert_float_equal(l.cores[side] / cores[!gaps], 1, 1e-6);
	}
	mover_list_fini(&l);
}

/* Sides that overlap, that are apart, one of hours, and with borders on those of blocks of 4 h. */
static void check_all_movers(void)
{
	static const int64_t sides[][2][2] = {
		{{12345, 6 * DAY + 2}, {12345 - DAY, 5 * DAY + 2}},
		{{4 * DAY + 7, 7 * DAY}, {DAY + 7, 4 * DAY}},
		{{2 * DAY, 4 * DAY}, {0, 2 * DAY}},
		{{5 * DAY, 5 * DAY + 7200}, {DAY + 333, 3 * DAY}},
		{{DAY + 5, DAY + 3605}, {4000, 7600}},
		{{12 * 3600 + 1, 2 * DAY - 1}, {12 * 3600 + 2, 24 * 3600 + 2}},
		/* whole days in UTC, as those of profiling_functions */
		{{4 * DAY + 43200, 8 * DAY + 43200}, {DAY + 43200, 5 * DAY + 43200}},
	};

	for (size_t i = 0; i < ARRAY_SIZE(sides); i++) {
		check_movers("whole", types[0], sides[i][0], sides[i][1]);
		check_movers("scraped", types[2], sides[i][0], sides[i][1]);
	}
}

TEST(movers_are_those_of_the_samples)
{
	check_all_movers();
}

/* Of one whose profiles have no gaps, and of one that is scraped. */
TEST(movers_of_all_services_are_those_of_each)
{
	static const int64_t range[2] = {12345, 6 * DAY + 2}, base[2] = {12345 - DAY, 5 * DAY + 2};
	const int64_t *const sides[] = {range, base};
	const struct query_filter f = {.from_ns = (FIRST + range[0]) * (int64_t)NS_PER_S,
				       .to_ns = (FIRST + range[1]) * (int64_t)NS_PER_S};
	const struct query_filter b = {.from_ns = (FIRST + base[0]) * (int64_t)NS_PER_S,
				       .to_ns = (FIRST + base[1]) * (int64_t)NS_PER_S};
	struct mover_list l = {0};
	struct err err = {""};

	if (mover_query(store, &f, &b, 10, &l, &err) < 0)
		fail_msg("%s", err.msg);
	assert_in_range(l.n_services, 2, 3); /* "mixed" of an earlier test is a copy of "whole" */
	assert_int_equal(l.n_items, 6);
	for (size_t i = 0; i < l.n_items; i++) {
		const struct mover *m = &l.items[i];

		assert_string_equal(m->type, m->service[0] == 'w' ? types[0] : types[2]);
		assert_float_equal((double)m->self, self_of(m->service, m->type, m->name, range),
				   1);
		assert_float_equal((double)m->base_self,
				   self_of(m->service, m->type, m->name, base), 1);
	}
	for (int side = 0; side < 2; side++) {
		double whole[2], scraped[2];

		cores_of("whole", types[0], sides[side], whole);
		cores_of("scraped", types[2], sides[side], scraped);
		assert_true(l.has_data[side]);
		whole[1] *= (double)l.n_services - 1;
		assert_float_equal(l.cores[side] / (whole[1] + scraped[0]), 1, 1e-6);
	}
	mover_list_fini(&l);
}

/* Which is new or gone: the time is that of all services. */
TEST(movers_of_a_service_that_is_not_there_are_none)
{
	const struct query_filter f = {.service = "other",
				       .from_ns = FIRST * (int64_t)NS_PER_S,
				       .to_ns = (FIRST + DAY) * (int64_t)NS_PER_S};
	struct mover_list l = {0};
	struct err err = {""};

	assert_int_equal(mover_query(store, &f, &f, 10, &l, &err), 0);
	assert_int_equal(l.n_items + l.n_services, 0);
	mover_list_fini(&l);
}

/* Or weeks would be read sample by sample. */
TEST(sums_are_read_from_projections)
{
	static const char *const queries[][2] = {
		{"ReadFromMergeTree (stack_sums)",
		 "EXPLAIN SELECT ServiceName, StackHash, " SCHEMA_START_BLOCK
		 " >= 3 AS a, " SCHEMA_END_BLOCK " < 900000 AS b, " SCHEMA_SUM
		 " FROM profiling_samples WHERE (ServiceName, Type) IN (SELECT 'whole', "
		 "'ebpf:cpu:nanoseconds') AND (a OR b) GROUP BY ServiceName, StackHash, a, b"},
		{"ReadFromMergeTree (instances)",
		 "EXPLAIN SELECT ServiceName, Host, Instance, sum(Samples), count(), min(Start), "
		 "max(Start), max(End), " SCHEMA_SUM ", " SCHEMA_LENGTH " FROM profiling_quality "
		 "WHERE Type IN ('ebpf:cpu:nanoseconds') AND " SCHEMA_START_BLOCK
		 " >= 3 GROUP BY ServiceName, Host, Instance"},
		{"ReadFromMergeTree (set_hours)",
		 "EXPLAIN SELECT " SCHEMA_START_HOUR " AS hs, " SCHEMA_END_HOUR
		 " AS he, toUnixTimestamp64Nano(min(Start)), max(End), " SCHEMA_SUM
		 ", " SCHEMA_INTEGRAL ", " SCHEMA_HEAD_SUM ", " SCHEMA_HEAD_INTEGRAL
		 ", " SCHEMA_LENGTH ", " SCHEMA_JOINTS " FROM profiling_quality WHERE "
		 "ServiceName = 'whole' AND Type = 'ebpf:cpu:nanoseconds' AND hs >= 3 AND "
		 "LabelSet % 2 = 0 GROUP BY hs, he, if(he > hs + 1, LabelSet, 0)"},
		{"ReadFromMergeTree (set_labels)",
		 "EXPLAIN SELECT ServiceName, Type, LabelSet, Labels FROM profiling_quality WHERE "
		 "ServiceName = 'whole' AND Type = 'ebpf:cpu:nanoseconds' AND " SCHEMA_START_DAY
		 " <= 99999 GROUP BY ServiceName, Type, LabelSet, Labels"},
	};

	for (size_t i = 0; i < ARRAY_SIZE(queries); i++) {
		CLEANUP(buf_fini) struct buf out;
		const struct store_query q = {.sql = queries[i][1], .format = "TSV"};
		struct err err = {""};

		buf_init(&out, 100000);
		if (store_query(store, &q, &out, &err) < 0)
			fail_msg("%s", err.msg);
		if (!strstr(out.data, queries[i][0]))
			fail_msg("%s", out.data);
	}
}

/* Parts of an agent that did not add anything up yet. */
TEST(parts_without_projections_are_read_as_well)
{
	const struct question q = {types[0], -33, 8 * DAY, NULL, NULL, "version"};

	run("ALTER TABLE profiling_quality CLEAR PROJECTION set_labels SETTINGS mutations_sync = "
	    "1");
	run("ALTER TABLE profiling_quality CLEAR PROJECTION set_hours SETTINGS mutations_sync = 1");
	run("ALTER TABLE profiling_quality CLEAR PROJECTION instances SETTINGS mutations_sync = "
	    "1");
	/* some days with, and some without */
	run("ALTER TABLE profiling_samples CLEAR PROJECTION stack_sums IN PARTITION '2026-01-13' "
	    "SETTINGS mutations_sync = 1");
	check_all_movers();
	run("ALTER TABLE profiling_samples CLEAR PROJECTION stack_sums SETTINGS mutations_sync = "
	    "1");
	check_all_movers();
	compare(profile_query_timeline, &q, 0.005);
	compare(profile_query_labels, &q, 1e-9);
}

GROUP_FIXTURE(start, stop)
