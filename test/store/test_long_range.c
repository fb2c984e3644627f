/*
 * Ranges of days, of which the store has added up most (projections.h): answers are those
 * of the samples. Service "whole" has a row in profiling_quality for each of its profiles, "bare"
 * has the same samples and none, so that it is read as before. The environment names libchdb.so as
 * CHDB_LIBRARY.
 */
#include <math.h>

#include "cluster-agent/query/profile_query.h"
#include "cluster-agent/query/read/profile_source.h"
#include "cluster-agent/query/read/timeline_groups.h"
#include "cluster-agent/query/read/timeline_query.h"
#include "cluster-agent/store/store_chdb.h"
#include "common/system/clock.h"
#include "test/lib/remove_tree.h"
#include "test/lib/unit.h"

#define FIRST INT64_C(1768046400) /* 2026-01-10 12:00 UTC */
#define DAY INT64_C(86400)

static const char *const types[] = {"ebpf:cpu:nanoseconds", "go_runtime:heap_inuse_space:bytes",
				    "go:profile_cpu:nanoseconds", "go:heap_inuse_space:bytes"};

static char dir[64];
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
}

static int start(void **state)
{
	struct store_chdb_config cfg = {dir, UINT64_C(3650) * 86400 * NS_PER_S,
					getenv("CHDB_LIBRARY")};
	struct err err = {""};

	(void)state;
	snprintf(dir, sizeof(dir), "/tmp/test_long.XXXXXX");
	if (!mkdtemp(dir) || store_chdb_open(&store, &cfg, &err) < 0) {
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
	return remove_tree(dir);
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

/* Parts of an agent that did not add anything up yet. */
TEST(parts_without_projections_are_read_as_well)
{
	const struct question q = {types[0], -33, 8 * DAY, NULL, NULL, "version"};

	run("ALTER TABLE profiling_quality CLEAR PROJECTION label_sets SETTINGS mutations_sync = "
	    "1");
	run("ALTER TABLE profiling_quality CLEAR PROJECTION windows SETTINGS mutations_sync = 1");
	compare(profile_query_timeline, &q, 0.005);
	compare(profile_query_labels, &q, 1e-9);
}

GROUP_FIXTURE(start, stop)
