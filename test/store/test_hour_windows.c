/*
 * Timelines of more than a week, which are made of sums by hour (timeline_hours.h), against the
 * profiles one by one: some missing, some short, some twice, some moved so that a gap is as long as
 * an overlap before it, sets of labels that come and go, pods without a host, and hours without
 * anything. The environment names libchdb.so as CHDB_LIBRARY.
 */
#include <math.h>

#include "cluster-agent/query/read/label_matchers.h"
#include "cluster-agent/query/read/profile_source.h"
#include "cluster-agent/query/read/timeline_groups.h"
#include "cluster-agent/query/read/timeline_query.h"
#include "cluster-agent/store/rowbinary.h"
#include "cluster-agent/store/store_chdb.h"
#include "cluster-agent/store/store_probe.h"
#include "common/system/clock.h"
#include "test/lib/unit.h"

#define FIRST INT64_C(1768046400) /* 2026-01-10 12:00 UTC */
#define DAYS INT64_C(8)
#define SETS 7u
#define STEPS 100u
#define ROWS 250000u

static const char *const types[] = {"ebpf:cpu:nanoseconds", "go_runtime:heap_inuse_space:bytes"};

static struct store *store;

static void run(const char *sql)
{
	struct err err = {""};

	if (store_maintain(store, sql, NULL, &err) < 0)
		fail_msg("%s: %s", sql, err.msg);
}

/*
 * Profile k of set i; h is random. Sets 0 to 2 are of version 1, and 2 has no host. 3 lives for
 * some hours, 4 has a long profile now and then, 5 is uploaded twice in part, and nothing is there
 * for five hours of each second day, but 6, for some of them.
 */
#define LABELS                                                                               \
	"map('container.id', '/k8s/shop/p-' || toString(i) || '/app', 'version', if(i < 3, " \
	"'1', '2'), 'host.name', if(i = 2, '', 'n' || toString(i % 2)))"
#define PROFILES                                                                                 \
	"(SELECT i, k, cityHash64(i, k, type) AS h, type, toDateTime64(1768046400, 9, 'UTC') + " \
	"k * 300 + i * 7 - if(h % 101 = 0, 20, 0) AS t, t + multiIf(h % 89 = 0, 177, i = 4 AND " \
	"k % 60 = 0, 9000, 300) AS stop, toInt64(1000 + h % 1000000) AS value FROM (SELECT "     \
	"number % 7 AS i, intDiv(number, 7) AS k, arrayJoin(['ebpf:cpu:nanoseconds', "           \
	"'go_runtime:heap_inuse_space:bytes']) AS type FROM numbers(16128)) "                    \
	"WHERE h % 97 != 0 AND (i != 3 OR k BETWEEN 200 AND 280) "                               \
	"AND (k % 576 > 60 OR (i = 6 AND k % 20 < 6)) AND (i != 1 OR h % 3 = 0))"

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
	run("INSERT INTO profiling_quality SELECT 'a', type, t, stop, Labels['host.name'], 3, 0, "
	    "value, i + 1, map(), k * 7 + i, map(), map(), map(), " LABELS
	    " AS Labels, cityHash64(Labels) FROM " PROFILES
	    " ARRAY JOIN if(i = 5 AND k % 50 < 3, [1, 2], [1]) AS n");
	run("INSERT INTO profiling_samples SELECT ServiceName, Type, Start, End, Labels, 1, Value "
	    "FROM profiling_quality");
	return 0;
}

static int stop(void **state)
{
	(void)state;
	store_close(store);
	return 0;
}

struct row {
	int64_t start_ns;
	int64_t end_ns;
	double value;
	uint64_t set;
};

static struct row rows[ROWS];
static size_t n_rows;

/* All profiles of a type, in the order of their start. */
static void read_rows(const char *type)
{
	const struct store_param params[] = {{"type", type}};
	const struct store_query q = {
		.sql = "SELECT toUnixTimestamp64Nano(Start) AS s, toUnixTimestamp64Nano(End), "
		       "toFloat64(Value), Instance - 1 FROM profiling_quality WHERE Type = "
		       "{type:String} ORDER BY s",
		.params = params,
		.n_params = 1,
		.format = "RowBinary",
	};
	CLEANUP(buf_fini) struct buf out;
	struct rowbinary_reader r;
	struct err err = {""};

	buf_init(&out, 10000000);
	if (store_query(store, &q, &out, &err) < 0)
		fail_msg("%s", err.msg);
	rowbinary_reader_init(&r, out.data, out.len);
	for (n_rows = 0; rowbinary_has_more(&r) && n_rows < ROWS; n_rows++) {
		rows[n_rows].start_ns = rowbinary_get_i64(&r);
		rows[n_rows].end_ns = rowbinary_get_i64(&r);
		rows[n_rows].value = rowbinary_get_f64(&r);
		rows[n_rows].set = rowbinary_get_u64(&r);
	}
	assert_true(n_rows > 2000 && !rowbinary_has_more(&r));
	assert_int_equal(rowbinary_reader_finish(&r), 0);
}

struct question {
	const char *type;
	const char *where;
	const char *instance;
	int64_t from_s; /* since FIRST */
	int64_t to_s;
	unsigned sets; /* a bit for each that is meant */
	bool is_alone; /* nothing is kept for the next question of the same filter */
};

/* Questions of one filter are asked with a source in common, as the page does, or without. */
static struct query_filter filter_of(const struct question *q, struct label_matchers *where,
				     struct profile_source *source)
{
	struct err err = {""};

	assert_int_equal(label_matchers_parse(where, q->where ? q->where : "", &err), 0);
	return (struct query_filter){.service = "a",
				     .type = q->type,
				     .instance = q->instance,
				     .where = where,
				     .source = q->is_alone ? NULL : source,
				     .from_ns = (FIRST + q->from_s) * (int64_t)NS_PER_S,
				     .to_ns = (FIRST + q->to_s) * (int64_t)NS_PER_S};
}

/* The first row that may reach beyond a time; no profile is longer than 9000 s. */
static size_t first_row(int64_t ns)
{
	size_t low = 0, high = n_rows;

	while (low < high) {
		size_t mid = (low + high) / 2;

		if (rows[mid].start_ns + INT64_C(9001) * (int64_t)NS_PER_S < ns)
			low = mid + 1;
		else
			high = mid;
	}
	return low;
}

/* The integral of the sets' profiles over [from, to), and the time that they cover, in ns. */
static double expect(const struct question *q, unsigned sets, int64_t from, int64_t to,
		     double *ret_covered)
{
	bool sum = strcmp(q->type, types[0]) == 0;
	int64_t covered_to = from;
	double value = 0, covered = 0;

	for (size_t i = first_row(from); i < n_rows && rows[i].start_ns < to; i++) {
		const struct row *p = &rows[i];
		int64_t a = p->start_ns > from ? p->start_ns : from;
		int64_t b = p->end_ns < to ? p->end_ns : to;

		if (!(sets >> p->set & 1) || b <= a ||
		    p->start_ns >= (FIRST + q->to_s) * (int64_t)NS_PER_S ||
		    p->end_ns <= (FIRST + q->from_s) * (int64_t)NS_PER_S)
			continue;
		value += p->value * (double)(b - a) / (sum ? (double)(p->end_ns - p->start_ns) : 1);
		a = a > covered_to ? a : covered_to;
		covered += b > a ? (double)(b - a) : 0;
		covered_to = b > covered_to ? b : covered_to;
	}
	*ret_covered = covered;
	return sum ? value * (double)NS_PER_S : value;
}

static void assert_near(const char *what, size_t at, double got, double want)
{
	if (isnan(got) && isnan(want))
		return;
	if (!(fabs(got - want) <= 1e-6 * fmax(fabs(want), 1)))
		fail_msg("%s: step %zu is %.9g instead of %.9g", what, at, got, want);
}

struct series {
	const struct question *q;
	const struct timeline *all;
	unsigned n;
};

/* Series "1" and "2" of versions, "n0", "n1" and none of hosts, or a container. */
static unsigned sets_of(const char *name)
{
	static const struct {
		const char *name;
		unsigned sets;
	} known[] = {{"1", 0x07}, {"2", 0x78}, {"n0", 0x51}, {"n1", 0x2a}, {"", 0x04}};

	for (size_t i = 0; i < ARRAY_SIZE(known); i++)
		if (strcmp(known[i].name, name) == 0)
			return known[i].sets;
	return 1u << (name[strlen("/k8s/shop/p-")] - '0');
}

static int check_series(void *ctx, const struct timeline_group *g)
{
	struct series *s = ctx;
	const struct timeline *all = s->all;

	assert_non_null(g->name);
	s->n++;
	for (uint32_t i = 0; i < all->n_steps; i++) {
		int64_t from = all->from_ns + i * all->step_ns;
		double covered, value = expect(s->q, s->q->sets & sets_of(g->name), from,
					       from + all->step_ns, &covered);

		(void)covered;
		expect(s->q, s->q->sets, from, from + all->step_ns, &covered);
		assert_near(g->name, i, g->values[i], covered > 0 ? value / covered : NAN);
	}
	return 0;
}

/* The timeline that comes with the series is the one that is asked for alone. */
static void check_together(const struct query_filter *f, const struct timeline_by *by,
			   const struct series *of)
{
	static struct timeline_step steps[STEPS];
	CLEANUP(timeline_groups_freep) struct timeline_groups *g = NULL;
	struct timeline t = *of->all;
	const struct timeline_by with = {.label = by->label, .all = &t, .divisor = 1};
	struct series s = {of->q, &t, 0};
	struct err err = {""};

	t.steps = steps;
	t.covered_ns = 0;
	if (timeline_groups_open(&g, store, f, &with, &t, &err) < 0)
		fail_msg("%s", err.msg);
	assert_near("covered together", 0, t.covered_ns, of->all->covered_ns);
	for (uint32_t i = 0; i < t.n_steps; i++) {
		assert_true(steps[i].covered_ns == of->all->steps[i].covered_ns);
		assert_near("value together", i, steps[i].value, of->all->steps[i].value);
	}
	if (timeline_groups_each(g, check_series, &s, &err) < 0)
		fail_msg("%s", err.msg);
	assert_int_equal(s.n, of->n);
}

static void check(const struct question *q)
{
	static const char *const labels[] = {"version", "host.name", QUERY_FILTER_INSTANCE};
	static struct timeline_step steps[STEPS];
	struct timeline t = {.aggregation = strcmp(q->type, types[0]) == 0
						    ? PROFILE_AGGREGATION_SUM
						    : PROFILE_AGGREGATION_AVG,
			     .steps = steps};
	struct label_matchers where;
	CLEANUP(profile_source_fini) struct profile_source source = {0};
	struct query_filter f = filter_of(q, &where, &source);
	double covered_ns = 0, covered;
	struct err err = {""};

	timeline_set_steps(&t, f.from_ns, f.to_ns, STEPS);
	if (timeline_query(store, &f, &t, &err) < 0)
		fail_msg("%s", err.msg);
	for (uint32_t i = 0; i < t.n_steps; i++) {
		int64_t from = t.from_ns + i * t.step_ns;
		double value = expect(q, q->sets, from, from + t.step_ns, &covered);

		assert_near("covered", i, steps[i].covered_ns, covered);
		assert_near("value", i, steps[i].value, covered > 0 ? value / covered : NAN);
	}
	expect(q, q->sets, f.from_ns, f.to_ns, &covered);
	assert_near("covered", 0, t.covered_ns, covered);
	assert_int_equal(timeline_query_covered(store, &f, &covered_ns, &err), 0);
	assert_near("covered alone", 0, covered_ns, covered);
	for (size_t i = 0; i < ARRAY_SIZE(labels); i++) {
		struct series s = {q, &t, 0};
		const struct timeline_by by = {.label = labels[i], .all = &t, .divisor = 1};

		if (timeline_groups_query(store, &f, &by, check_series, &s, &err) < 0)
			fail_msg("%s", err.msg);
		assert_true(s.n > 0);
		if (i == 0)
			check_together(&f, &by, &s);
	}
}

/* Ends of the range within an hour, within a profile, and on hours. */
static void check_all(size_t n_types)
{
	static const struct question questions[] = {
		{NULL, NULL, NULL, 1234, DAYS * 86400 - 4321, 0x7f, true},
		{NULL, "version=\"1\"", NULL, -7200, 7 * 86400, 0x07, true},
		{NULL, "version=\"2\"", NULL, 3600, DAYS * 86400 + 3600, 0x78, false},
		{NULL, NULL, "/k8s/shop/p-0/app", 17, 7 * 86400 + 31, 0x01, true},
		{NULL, NULL, "/k8s/shop/p-1/app", 17, 7 * 86400 + 31, 0x02, false},
		{NULL, NULL, "/k8s/shop/p-3/app", -86400, 7 * 86400, 0x08, false},
		{NULL, NULL, "/k8s/shop/p-4/app", 86400, DAYS * 86400, 0x10, false},
		{NULL, NULL, "/k8s/shop/p-5/app", 1800, DAYS * 86400, 0x20, false},
		{NULL, NULL, "/k8s/shop/p-6/app", 1800, DAYS * 86400, 0x40, false},
	};

	for (size_t t = 0; t < n_types; t++) {
		read_rows(types[t]);
		for (size_t i = 0; i < ARRAY_SIZE(questions); i++) {
			struct question q = questions[i];

			q.type = types[t];
			check(&q);
		}
	}
}

#define QUARTERS 5000u

TEST(quarters_of_an_hour_have_days)
{
	static uint64_t quarters[QUARTERS];
	static uint32_t days[QUARTERS];
	const uint64_t first = UINT64_C(1768046400) / STORE_QUARTER_S; /* 2026-01-10 12:00 UTC */
	struct err err = {0};

	for (size_t i = 0; i < QUARTERS; i++)
		quarters[i] = first + i;
	if (store_find_days(store, quarters, QUARTERS, days, &err) < 0)
		fail_msg("days: %s", err.msg);
	/* where days begin depends on the zone of the store */
	assert_in_range(days[0], 20462, 20464);
	for (size_t i = 1; i < QUARTERS; i++)
		assert_true(days[i] == days[i - 1] || days[i] == days[i - 1] + 1);
	assert_in_range(days[QUARTERS - 1] - days[0], QUARTERS / 96, QUARTERS / 96 + 1);
}

TEST(steps_of_hours_have_what_their_profiles_have)
{
	check_all(2);
}

/* Many sets, so that a few of them are asked first. */
TEST(a_few_sets_that_cover_all_hours_do_not_hide_what_the_others_cover)
{
	run("INSERT INTO profiling_quality SELECT ServiceName, Type, Start, End, Host, Samples, "
	    "Truncated, Value, Instance, Lost, Upload, Runtimes, Unwinding, Starts, "
	    "mapUpdate(Labels, map('copy', toString(c))) AS L, cityHash64(L) FROM "
	    "profiling_quality ARRAY JOIN range(1, 5) AS c WHERE Instance IN (1, 3, 5) AND "
	    "Type = 'ebpf:cpu:nanoseconds'");
	check_all(1);
}

TEST(parts_without_sums_are_read_as_well)
{
	run("ALTER TABLE profiling_quality CLEAR PROJECTION set_hours SETTINGS mutations_sync = 1");
	run("ALTER TABLE profiling_quality CLEAR PROJECTION set_labels IN PARTITION '2026-01-13' "
	    "SETTINGS mutations_sync = 1");
	check_all(1);
}

GROUP_FIXTURE(start, stop)
