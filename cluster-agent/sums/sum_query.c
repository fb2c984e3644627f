/*
 * A profile is of the day in which it starts. The sums of a function are made of values by stack,
 * which are few compared with samples, and of the frames of these stacks: a function that a stack
 * contains several times counts once.
 *
 * Values of levels (memory in use, goroutines) do not add up over time. Their sums are value ×
 * seconds, which do, from day to day as well. Covered has the seconds for which the service has any
 * profile of the type, counted once however many instances were profiled: the mean is the sum
 * divided by it. For that, windows are rounded to 5 s, so that thousands of instances have few
 * different ones.
 *
 * The version is what the page takes for one: the first of version_labels.h that is set.
 */
#include "cluster-agent/sums/sum_query.h"

#include <errno.h>
#include <time.h>

#include "cluster-agent/query/read/bound_query.h"
#include "cluster-agent/query/read/profile_types.h"
#include "cluster-agent/store/projections.h"
#include "cluster-agent/sums/version_labels.h"
#include "common/system/clock.h"

#define MAX_LIST_BYTES ((size_t)4 << 20)
#define MAX_ROWS_BYTES ((size_t)48 << 20)
#define MAX_TYPES 128u

#define OF_DAY                                                \
	"Start >= fromUnixTimestamp64Nano({from:Int64}) AND " \
	"Start < fromUnixTimestamp64Nano({to:Int64})"
#define OF_SERVICES " FROM ${samples} WHERE ServiceName IN {services:Array(String)} AND " OF_DAY
#define VERSION                                                                            \
	"arrayFirst(x -> x != '', arrayMap(k -> Labels[k], {versions:Array(String)})) AS " \
	"Version"
#define IS_LEVEL "Type IN {levels:Array(String)}"
#define VALUE "sum(toFloat64(Value) * if(" IS_LEVEL ", ${window_ns} / 1e9, 1))"
/* Uploads may contain any value. */
#define INT(x) "toInt64(round(greatest(least(" x ", 9e18), -9e18)))"
#define SUMMED "{day:Date} AS Day"
#define AT "fromUnixTimestamp64Nano({summed:Int64}) AS Summed"
/*
 * As frame_text_split() does it; but code without a name keeps its file, of which it is in the
 * table of symbols that may come later (stored_name.h).
 */
#define NAME(frame)                                                                    \
	"replaceRegexpOne(" frame ", '(\\\\+0x[0-9a-f]+ \\\\[[^ ]*[@:][0-9a-f]+\\\\])" \
	":-?[0-9]+(?::inlined)?$| [^ ]*:-?[0-9]+(?::inlined)?$', '\\\\1')"

#define SQL_SERVICES                                                              \
	"SELECT ServiceName, count() FROM ${samples} WHERE " OF_DAY               \
	" AND ServiceName ${not_in} (SELECT ServiceName FROM ${functions} WHERE " \
	"Name = '' AND Day = {day:Date} AND Summed >= "                           \
	"fromUnixTimestamp64Nano({fresh:Int64})) AND ServiceName NOT IN "         \
	"{skip:Array(String)} GROUP BY ServiceName "                              \
	"ORDER BY cityHash64(ServiceName, {seed:UInt64}) LIMIT {max:UInt64}"

/* A stack is stored again on each day, with a LastSeen that is up to an hour ahead (ingest). */
#define STACKS                                                                                     \
	"(SELECT ServiceName, Hash, arrayDistinct(arrayMap(f -> " NAME(                            \
		"f") ", Stack)) AS names, " NAME("Stack[1]") " AS leaf FROM ${stacks} WHERE "      \
							     "ServiceName IN "                     \
							     "{services:Array(String)} AND "       \
							     "notEmpty(Stack) AND "                \
							     "LastSeen >= "                        \
							     "fromUnixTimestamp64Nano({from:"      \
							     "Int64}) AND "                        \
							     "LastSeen < "                         \
							     "fromUnixTimestamp64Nano({to:Int64} " \
							     "+ 86400000000000) "                  \
							     "LIMIT 1 BY ServiceName, Hash) AS s "
#define VALUES                                                                          \
	"(SELECT ServiceName, Type, " VERSION ", StackHash, " VALUE " AS v" OF_SERVICES \
	" GROUP BY ServiceName, Type, Version, StackHash HAVING v > 0) AS w "           \
	"ON s.ServiceName = w.ServiceName AND s.Hash = w.StackHash"
#define SQL_FUNCTIONS                                                                             \
	"SELECT name, t, service, version, " SUMMED                                               \
	", " INT("sumIf(v, name = leaf)") " AS Self, " INT(                                       \
		"sum(v)") " AS Total, toUInt32(0) AS Covered, " AT " FROM "                       \
			  "(SELECT arrayJoin(s.names) AS name, s.leaf AS leaf, w.ServiceName AS " \
			  "service, "                                                             \
			  "w.Type AS t, w.Version AS version, w.v AS v FROM " STACKS              \
			  "${join} " VALUES ") "                                                  \
			  "WHERE name != '' GROUP BY name, t, service, version "                  \
			  "ORDER BY Total DESC, name LIMIT {functions:UInt64} BY t, service, "    \
			  "version "                                                              \
			  "LIMIT {max:UInt64}"

#define UNITS(time, round) "intDiv(" time " + " round ", 5000000000)"
#define COVERED                                                                           \
	"(SELECT ServiceName, Type, 5 * intervalLengthSum(a, b) AS c FROM (SELECT "       \
	"ServiceName, Type, " UNITS(SCHEMA_START, "2500000000") " AS a, greatest(" UNITS( \
		SCHEMA_END, "2500000000") ", a + 1) AS b" OF_SERVICES " AND " IS_LEVEL    \
					  " GROUP BY ServiceName, Type, a, b) GROUP BY "  \
					  "ServiceName, Type) AS c "
#define SQL_TOTALS                                                                                \
	"SELECT '', w.Type, w.ServiceName, w.Version, " SUMMED ", toInt64(0), " INT(              \
		"w.v") ", toUInt32(least(c.c, 4000000000)), " AT                                  \
		       " FROM (SELECT ServiceName, Type, " VERSION ", " VALUE " AS v" OF_SERVICES \
		       " GROUP BY ServiceName, Type, Version) "                                   \
		       "AS w ${left_join} " COVERED                                               \
		       "ON w.ServiceName = c.ServiceName AND w.Type = c.Type LIMIT {max:UInt64}"

static void day_text(char ret[static 16], int64_t start_ns)
{
	time_t t = (time_t)(start_ns / (int64_t)NS_PER_S);
	struct tm tm;

	gmtime_r(&t, &tm);
	strftime(ret, 16, "%Y-%m-%d", &tm);
}

static void begin(struct bound_query *q, const struct sum_day *day, const struct query_filter *f,
		  size_t max_answer_bytes)
{
	char text[16];

	bound_query_init(q, day->store, f, max_answer_bytes);
	q->lane = STORE_FOR_AGENT;
	day_text(text, day->start_ns);
	bound_query_add_text(q, "day", text);
}

static struct query_filter filter_of(const struct sum_day *day)
{
	return (struct query_filter){.from_ns = day->start_ns,
				     .to_ns = day->start_ns + SCHEMA_DAY_NS};
}

int sum_query_services(const struct sum_day *day, struct sum_services *ret, struct err *err)
{
	CLEANUP(bound_query_fini) struct bound_query q;
	const struct query_filter f = filter_of(day);
	struct rowbinary_reader r;
	int e;

	ret->n_items = 0;
	begin(&q, day, &f, MAX_LIST_BYTES);
	bound_query_add_uint(&q, "fresh", day->fresh_ns > 0 ? (uint64_t)day->fresh_ns : 0);
	bound_query_add_uint(&q, "seed", day->seed);
	bound_query_add_uint(&q, "max", SUM_QUERY_MAX_SERVICES);
	bound_query_add_texts(&q, "skip", day->skip, day->n_skip);
	bound_query_add_sql(&q, &f, SQL_SERVICES);
	e = bound_query_run(&q, err);
	if (e < 0)
		return e;
	rowbinary_reader_init(&r, q.answer.data, q.answer.len);
	while (rowbinary_has_more(&r) && ret->n_items < SUM_QUERY_MAX_SERVICES) {
		struct sum_service *s = &ret->items[ret->n_items++];

		s->name = rowbinary_take_string(&r, &ret->arena);
		s->n_samples = rowbinary_get_u64(&r);
		if (!s->name)
			return -ENOMEM;
	}
	return bound_query_check(&r, err);
}

/* The types whose values are levels. */
static void add_levels(struct bound_query *q)
{
	const char *levels[MAX_TYPES];
	size_t n, n_levels = 0;
	const struct profile_type *types = profile_types(&n);

	for (size_t i = 0; i < n && n_levels < MAX_TYPES; i++)
		if (types[i].aggregation == PROFILE_AGGREGATION_AVG)
			levels[n_levels++] = types[i].type;
	bound_query_add_texts(q, "levels", levels, n_levels);
}

/* Returns the number of rows in an answer, or -EBADMSG. */
static int64_t count_rows(const struct buf *answer)
{
	struct rowbinary_reader r;
	int64_t n = 0;

	rowbinary_reader_init(&r, answer->data, answer->len);
	for (; rowbinary_has_more(&r); n++) {
		size_t len;

		for (int i = 0; i < 4; i++)
			(void)rowbinary_get_string(&r, &len);
		(void)rowbinary_get_u8(&r); /* Day has two bytes */
		(void)rowbinary_get_u8(&r);
		(void)rowbinary_get_i64(&r);
		(void)rowbinary_get_i64(&r);
		(void)rowbinary_get_u32(&r);
		(void)rowbinary_get_i64(&r);
	}
	return rowbinary_reader_finish(&r) < 0 ? -EBADMSG : n;
}

static int add_rows(const struct sum_day *day, const struct query_filter *f, const char *template,
		    struct sum_rows *ret, struct err *err)
{
	static const char *const versions[] = {VERSION_LABELS};
	CLEANUP(bound_query_fini) struct bound_query q;
	int64_t n;
	int r;

	begin(&q, day, f, MAX_ROWS_BYTES);
	add_levels(&q);
	bound_query_add_texts(&q, "versions", versions, ARRAY_SIZE(versions));
	bound_query_add_uint(&q, "summed", (uint64_t)day->now_ns);
	bound_query_add_uint(&q, "functions", SUM_QUERY_FUNCTIONS);
	bound_query_add_uint(&q, "max", SUM_QUERY_MAX_ROWS);
	bound_query_add_sql(&q, f, template);
	r = bound_query_run(&q, err);
	if (r < 0)
		return r;
	n = count_rows(&q.answer);
	if (n < 0)
		return err_set(err, (int)n, "unexpected answer of the store");
	ret->n_rows += (uint32_t)n;
	ret->is_cut |= n == SUM_QUERY_MAX_ROWS;
	return buf_add(&ret->bytes, q.answer.data, q.answer.len);
}

int sum_query_rows(const struct sum_day *day, const struct sum_service *services, size_t n,
		   struct sum_rows *ret, struct err *err)
{
	AUTO_FREE const char **names = calloc(n + 1, sizeof(*names));
	struct query_filter f = filter_of(day);
	int r;

	if (!names)
		return -ENOMEM;
	for (size_t i = 0; i < n; i++)
		names[i] = services[i].name;
	f.services = names;
	f.n_services = n;
	/* totals last: what arrives in between must not make a share exceed the whole */
	r = add_rows(day, &f, SQL_FUNCTIONS, ret, err);
	return r == 0 ? add_rows(day, &f, SQL_TOTALS, ret, err) : r;
}
