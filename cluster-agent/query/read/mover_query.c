/*
 * A function is a leaf frame of a service; its own CPU time is the sum over the stacks that end
 * in it. To add that up for thousands of services would read every sample and every stack of two
 * ranges. Three queries, each over what the one before has left, need a fraction of that:
 *
 * 1. Services. profiling_quality has the CPU time of each in both ranges. No function can change by
 *    more than its service used in either range, so the services with the most CPU time are looked
 *    at, MAX_SERVICES and MAX_SAMPLES of them, and the answer says how large a change may be that
 *    is missing.
 * 2. Stacks. Those of these services are compared; the MAX_STACKS that changed most name the
 *    functions that are candidates.
 * 3. Candidates are added up over all of their stacks, so that the values are those that the flame
 *    graph shows, and the order is right. If there are no more stacks than MAX_STACKS, 2 does it.
 *
 * Of ranges of half a day and more the engine has the sums of 1 and 2 by blocks of four hours
 * (projections.h).
 *
 * A service that is measured twice, by the node-agent and by scraping, counts once, by the type
 * that has data on both sides; the eBPF profile if both do.
 *
 * Cores are comparable if the agent was away in one of the ranges, as they are CPU time divided by
 * the time from the first to the last profile. That is the time of all services, also if the
 * question is about one: a service that has profiles in one of the ranges only is new or gone.
 * Scraped profiles stand for the gaps between them as in application_query.c. Both are in one
 * factor per service and side (rate).
 */
#include "cluster-agent/query/read/mover_query.h"

#include <errno.h>
#include <math.h>

#include "cluster-agent/query/read/bound_query.h"
#include "cluster-agent/query/read/mover_join.h"
#include "cluster-agent/query/read/mover_names.h"
#include "cluster-agent/query/read/profile_types.h"
#include "cluster-agent/query/read/timeline_query.h"
#include "cluster-agent/store/projections.h"
#include "common/flame/frame_text.h"
#include "common/system/clock.h"

#define MAX_ANSWER_BYTES ((size_t)64 << 20)
#define MAX_LIST_BYTES ((size_t)8 << 20)
#define MAX_SERVICES 200u
/* Each row of a profile is at least one sample. Twice ten minutes of 200 busy cores, say. */
#define MAX_SAMPLES UINT64_C(50000000)
#define MAX_STACKS 20000u
#define MAX_CANDIDATES_PER_MOVER 4u
#define MAX_CANDIDATE_BYTES ((size_t)96 * 1024)

#define SIDE_RANGE                                         \
	"Start < fromUnixTimestamp64Nano({to:Int64}) AND " \
	"End > fromUnixTimestamp64Nano({from:Int64})"
#define SIDE_BASE                                               \
	"Start < fromUnixTimestamp64Nano({base_to:Int64}) AND " \
	"End > fromUnixTimestamp64Nano({base_from:Int64})"

/*
 * A side of at least LONG_NS is read from the projections of projections.h, and only blocks that
 * are not wholly within it by profile or sample.
 */
#define LONG_NS (3 * SCHEMA_BLOCK_NS)
/* What is kept by default. To leave out rows costs a third of what it costs to add up all. */
#define MOST_NS (7 * SCHEMA_DAY_NS)
#define AT(name) "fromUnixTimestamp64Nano(toInt64({" name ":UInt64}))"

/* Sums of the profiles of each instance, as SQL_TYPES of application_query.c has them. */
#define SQL_PROFILES(side, w, own)                                                                \
	" AS " side ", ServiceName, Type, Host, Instance, sum(Samples) AS p_samples, " SCHEMA_SUM \
	" AS p_v, " w " AS p_w, " own " AS p_own, count() AS p_n, "                               \
	"toUnixTimestamp64Nano(min(Start)) AS p_begin, toUnixTimestamp64Nano(max(Start)) "        \
	"AS p_last, toUnixTimestamp64Nano(max(End)) AS p_stop FROM ${quality} "                   \
	"WHERE Type IN (${cpu_types}) AND "
#define SQL_PARTS                                                                    \
	SQL_PROFILES("side", "sum(toFloat64(Value) * ${overlap_ns} / ${window_ns})", \
		     "sum(toFloat64(${overlap_ns}))")                                \
	"${range}"
#define SQL_WHOLE SQL_PROFILES("side", SCHEMA_SUM, SCHEMA_LENGTH)
#define SQL_PROFILES_END " GROUP BY ServiceName, Type, Host, Instance"
#define SQL_BEFORE_HEAD " AND Start < " AT("head")
#define SQL_BEHIND_TAIL " AND Start >= " AT("head") " AND End > " AT("tail")
#define BETWEEN(side)                                                                              \
	"(" SCHEMA_START_BLOCK " >= {" side "head_block:UInt64} AND " SCHEMA_END_BLOCK " < {" side \
	"tail_block:UInt64})"
/* Blocks of both sides; {all}: so many that those of neither side are dropped afterwards. */
#define BLOCKS_OF(which) "({all:UInt8} OR " which("") " OR " which("base_") ")"
/* Both sides at once, as they mostly have blocks in common: 1 is the range, 2 the base. */
#define SQL_BLOCKS_OF_BOTH                                                                 \
	"SELECT arrayJoin([[], [0], [1], [0, 1]][sides + 1]) AS side, ServiceName, Type, " \
	"Host, Instance, p_samples, p_v, p_w, p_own, p_n, p_begin, p_last, p_stop "        \
	"FROM (SELECT " BETWEEN("") " + 2 * " BETWEEN("base_")                             \
		SQL_PROFILES("sides", SCHEMA_SUM, SCHEMA_LENGTH) BLOCKS_OF(BETWEEN)        \
			SQL_PROFILES_END ", sides)"
/*
 * What is used on each side, of other services than that of the question in one row without a name.
 * By instance where there are gaps between profiles. The rest is done in C: a query of more levels
 * takes the engine longer to plan than to answer.
 */
#define SQL_USED(name)                                                                           \
	") SELECT toUInt8(side), " name " AS name, Type, sum(p_samples), sum(p_v), sum(p_w), "   \
	"sum(p_own), sum(p_n), min(p_begin), max(p_last), max(p_stop) FROM profiles "            \
	"GROUP BY side, name, Type, name != '' AND Type NOT IN (${gapless_cpu_types}) AS each, " \
	"if(each, Host, ''), if(each, Instance, 0) ORDER BY name, Type"
#define SQL_USED_BY_ALL SQL_USED("ServiceName")
#define SQL_USED_BY_ONE SQL_USED("if(ServiceName = {service:String}, ServiceName, '')")

/*
 * What a leaf is compared by, as frame_file_key() has it, with the line 0: its name, the last
 * folder of its file without a version, and the file's name.
 */
#define KEY                                                                                      \
	"replaceRegexpOne(frame, ' (?:(?:[^ ]*/)?(@?[^/@ ]*?)[0-9._-]*(?:@[^/ ]*)?(/))?([^/ ]*)" \
	":-?[0-9]+(?::inlined)?$', ' \\\\1\\\\2\\\\3:0')"
#define NUMBER_OF_MANY                                           \
	"CAST(transform(ServiceName, {services:Array(String)}, " \
	"CAST(arrayEnumerate({services:Array(String)}), 'Array(UInt16)'), toUInt16(0)), 'UInt16')"
#define CHOSEN_OF_MANY                                                               \
	"ServiceName IN {services:Array(String)} AND Type = transform(ServiceName, " \
	"{services:Array(String)}, {types:Array(String)}, '') AND "
/* Of one, it takes a third less to add up a million sums. */
#define NUMBER_OF_ONE "toUInt16(1)"
#define CHOSEN_OF_ONE \
	"ServiceName = {services:Array(String)}[1] AND Type = {types:Array(String)}[1] AND "
/*
 * Sums by stack, of samples of the range (side 1), of the base (2), or of both (3): they may
 * overlap, as those of a month and of the month that began a day earlier do. Services are numbers,
 * by which the engine groups in half the time.
 */
#define VALUES(of, side)                                                                    \
	"SELECT " NUMBER_OF_##of " AS n, StackHash, toUInt8(" side ") AS side, " SCHEMA_SUM \
				 " AS v FROM ${samples} WHERE " CHOSEN_OF_##of
#define BY_STACK " GROUP BY n, StackHash"
#define SHORT_VALUES(of) \
	"(" VALUES(of, "1") SIDE_RANGE BY_STACK " UNION ALL " VALUES(of, "2") SIDE_BASE BY_STACK ")"
/*
 * A sample counts whole if it overlaps its side. Blocks that lie within the side are read from the
 * projection. Samples that end before the first of these blocks or begin after the last one are
 * read one by one: those of both sides at once, as either only needs one index, of ends or starts.
 */
#define OF_BLOCKS(side)                                                                            \
	"(" SCHEMA_END_BLOCK " >= {" side "head_block:UInt64} AND " SCHEMA_START_BLOCK " < {" side \
	"tail_block:UInt64})"
#define OF_HEAD(side)                                                                           \
	"(End > fromUnixTimestamp64Nano({" side "from:Int64}) AND End <= " AT(                  \
		side "head") " "                                                                \
			     "AND Start <= " AT(                                                \
				     side "head") " AND Start < fromUnixTimestamp64Nano({" side \
						  "to:Int64}))"
#define OF_TAIL(side)                                  \
	"(Start < fromUnixTimestamp64Nano({" side      \
	"to:Int64}) AND Start >= " AT(side "tail") " " \
						   "AND End > " AT(side "head") ")"
#define VALUES_OF(of, which, where) \
	VALUES(of, which("") " + 2 * " which("base_")) where BY_STACK ", side"
#define LONG_VALUES(of)                                                                       \
	"(" VALUES_OF(of, OF_BLOCKS, BLOCKS_OF(OF_BLOCKS)) " UNION ALL " VALUES_OF(           \
		of, OF_HEAD,                                                                  \
		"(" OF_HEAD("") " OR " OF_HEAD(                                               \
			"base_") ")") " UNION ALL " VALUES_OF(of, OF_TAIL,                    \
							      "(" OF_TAIL("") " OR " OF_TAIL( \
								      "base_") ")") ")"
#define OF_RANGE "sumIf(v, side IN (1, 3))"
#define OF_BASE "sumIf(v, side IN (2, 3))"

#define CHOSEN_STACKS                                             \
	"ServiceName IN {services:Array(String)} AND LastSeen > " \
	"fromUnixTimestamp64Nano(least({from:Int64}, {base_from:Int64}))"
/* Stacks by leaf: there are few leaves, and what makes a key of one is slow. */
#define LEAVES(of)                                                                          \
	"(SELECT n, frame, key, arrayJoin(hashes) AS Hash FROM (SELECT " NUMBER_OF_##of     \
		" AS n, Stack[1] AS frame, " KEY " AS key, groupUniqArray(Hash) AS hashes " \
		"FROM ${stacks} WHERE " CHOSEN_STACKS " AND notEmpty(Stack)"
#define BY_LEAF " GROUP BY n, frame"
#define LEAVES_END ")) AS s "
/*
 * If those that changed are all stacks, the values are exact. They are a scalar, as they are used
 * twice, and only a scalar is not found out twice.
 */
#define SQL_CHANGED(values, of)                                                                   \
	"WITH (SELECT groupArray((n, StackHash, x, y, change)) FROM (SELECT n, "                  \
	"StackHash, " OF_RANGE " AS x, " OF_BASE " AS y, "                                        \
	"x * {rates:Array(Float64)}[n] - y * {base_rates:Array(Float64)}[n] AS change "           \
	"FROM " values(of) " GROUP BY n, StackHash "                                              \
			   "HAVING max(side) > 0 ORDER BY abs(change) DESC LIMIT {max:UInt64})) " \
			   "AS changes, "                                                         \
			   "changed AS (SELECT c.1 AS n, c.2 AS StackHash, c.3 AS x, c.4 AS y, "  \
			   "c.5 AS change FROM (SELECT arrayJoin(changes) AS c)) "                \
			   "SELECT toUInt64(n), key, sum(x), sum(y), min(frame), "                \
			   "toUInt8(length(changes) < {max:UInt64}) "                             \
			   "FROM changed ${join} " LEAVES(                                        \
				   of) " AND Hash ${in} "                                         \
				       "(SELECT StackHash FROM changed)" BY_LEAF LEAVES_END       \
				       "ON changed.n = s.n AND changed.StackHash = s.Hash GROUP " \
				       "BY n, key "                                               \
				       "HAVING max(abs(change)) > 0 ORDER BY abs(sum(change)) "   \
				       "DESC, n, key "                                            \
				       "LIMIT {candidates:UInt64}"
/* The first of its files is that of the function, as in frame_functions.h. */
#define SQL_EXACT(values, of)                                                             \
	"SELECT toUInt64(n), key, " OF_RANGE ", " OF_BASE                                 \
	", min(frame), true FROM " values(of) " AS v ${join} " LEAVES(of) BY_LEAF         \
		" HAVING (n, key) IN (SELECT arrayJoin("                                  \
		"arrayZip(arrayMap(o -> toUInt16(indexOf({services:Array(String)}, o)), " \
		"{owners:Array(String)}), {keys:Array(String)})))" LEAVES_END             \
		"ON v.n = s.n AND v.StackHash = s.Hash GROUP BY n, key"

/* By whether a side is long, and whether there is only one service. */
#define FORMS(sql)                                                       \
	{                                                                \
		{sql(SHORT_VALUES, MANY), sql(SHORT_VALUES, ONE)},       \
			{sql(LONG_VALUES, MANY), sql(LONG_VALUES, ONE)}, \
	}

struct service {
	const char *name; /* of the list's arena */
	const char *type;
	uint64_t n_samples;
	double cores[2];
	double rate[2]; /* cores per ns of CPU time in the samples */
	int rank;       /* of its type, where there are several */
};

struct moves {
	struct store *store;
	const struct query_filter *f;
	const struct query_filter *base;
	const char *const *only; /* services that are asked for, sorted; NULL: all */
	size_t n_only;
	struct mover_list *list;
	struct service *services; /* most CPU time first */
	size_t n_services;
	const char **keys; /* of each item of the list; in its arena */
	bool is_exact;     /* the values of the items are those of all of their stacks */
};

/* ---- 1 · services ---- */

static int rank_of(const struct service *s)
{
	const struct profile_type *t = profile_type_get(s->type);
	bool both = s->cores[0] > 0 && s->cores[1] > 0;

	return 4 * both + 2 * (strncmp(s->type, "ebpf:", 5) == 0) + t->node_agent;
}

/* A row of SQL_USED. Its texts belong to the answer. */
struct used {
	unsigned side;
	const char *name;
	size_t name_len;
	const char *type;
	size_t type_len;
	uint64_t n_samples;
	double all;     /* CPU time in the samples */
	double within;  /* of it, within the side */
	double covered; /* ns of the side that consecutive profiles cover */
	uint64_t n_profiles;
	int64_t begin_ns; /* of the first profile, and of the last one */
	int64_t last_ns;
	int64_t stop_ns;
};

static struct used read_used(struct rowbinary_reader *r)
{
	struct used u = {.side = rowbinary_get_u8(r) != 0};

	u.name = rowbinary_get_string(r, &u.name_len);
	u.type = rowbinary_get_string(r, &u.type_len);
	u.n_samples = rowbinary_get_u64(r);
	u.all = rowbinary_get_f64(r);
	u.within = rowbinary_get_f64(r);
	u.covered = rowbinary_get_f64(r);
	u.n_profiles = rowbinary_get_u64(r);
	u.begin_ns = rowbinary_get_i64(r);
	u.last_ns = rowbinary_get_i64(r);
	u.stop_ns = rowbinary_get_i64(r);
	return u;
}

/* From the first to the last profile of each side, in ns. */
struct spans {
	double ns[2];
	size_t n_rows;
};

static int find_spans(const struct moves *m, const struct bound_query *q, struct spans *ret,
		      struct err *err)
{
	int64_t begin_ns[2] = {INT64_MAX, INT64_MAX}, stop_ns[2] = {INT64_MIN, INT64_MIN};
	struct rowbinary_reader r;

	rowbinary_reader_init(&r, q->answer.data, q->answer.len);
	for (ret->n_rows = 0; rowbinary_has_more(&r); ret->n_rows++) {
		struct used u = read_used(&r);

		if (u.begin_ns < begin_ns[u.side])
			begin_ns[u.side] = u.begin_ns;
		if (u.stop_ns > stop_ns[u.side])
			stop_ns[u.side] = u.stop_ns;
	}
	for (int side = 0; side < 2; side++) {
		const struct query_filter *f = side == 0 ? m->f : m->base;
		int64_t from_ns = begin_ns[side] > f->from_ns ? begin_ns[side] : f->from_ns;
		int64_t to_ns = stop_ns[side] < f->to_ns ? stop_ns[side] : f->to_ns;

		ret->ns[side] = to_ns > from_ns ? (double)(to_ns - from_ns) : 0;
	}
	return bound_query_check(&r, err);
}

/* CPU time within the side, of an instance as if its profiles had no gaps up to {hold}. */
static double held(const struct used *u, double span_ns)
{
	double n = (double)u->n_profiles;
	double reach = (double)((uint64_t)u->last_ns - (uint64_t)u->begin_ns) * n / fmax(n - 1, 1);
	double covered = fmin(u->covered + n * (double)TIMELINE_HOLD_NS, fmin(reach, span_ns));

	return u->within * fmax(covered / u->covered, 1);
}

static bool is_of(const struct service *s, const struct used *u)
{
	return s->name && u->name && u->type && strlen(s->name) == u->name_len &&
	       strlen(s->type) == u->type_len && memcmp(s->name, u->name, u->name_len) == 0 &&
	       memcmp(s->type, u->type, u->type_len) == 0;
}

static int name_service(struct moves *m, const struct used *u, const struct spans *spans,
			struct service *s)
{
	struct mover_list *l = m->list;

	*s = (struct service){
		.name = arena_strndup(&l->arena, u->name ? u->name : "", u->name_len),
		.type = arena_strndup(&l->arena, u->type ? u->type : "", u->type_len),
	};
	for (int side = 0; side < 2; side++)
		l->has_data[side] |= spans->ns[side] > 0;
	return s->name && s->type ? 0 : -ENOMEM;
}

/* Until take_service(), `rate` is the CPU time in the samples. */
static void add_used(struct service *s, const struct used *u, const struct spans *spans)
{
	double span_ns = spans->ns[u->side];
	bool gaps = !profile_type_get(s->type)->node_agent;

	s->n_samples += u->n_samples;
	if (span_ns <= 0)
		return;
	s->cores[u->side] += (gaps ? held(u, span_ns) : u->within) / span_ns;
	s->rate[u->side] += u->all;
}

/* Takes a service that has been read; of the types of one the best stays. */
static void take_service(struct moves *m, struct service *s)
{
	struct service *last = m->n_services > 0 ? &m->services[m->n_services - 1] : NULL;

	if (!s->name)
		return;
	for (int side = 0; side < 2; side++)
		s->rate[side] = s->rate[side] > 0 ? s->cores[side] / s->rate[side] : 0;
	s->rank = rank_of(s);
	if (!last || strcmp(last->name, s->name) != 0)
		m->services[m->n_services++] = *s;
	else if (s->rank > last->rank)
		*last = *s;
}

static double most(const struct service *s)
{
	return s->cores[0] > s->cores[1] ? s->cores[0] : s->cores[1];
}

static int most_cores_first(const void *a, const void *b)
{
	double x = most(a), y = most(b);

	return (x < y) - (x > y);
}

static int by_text(const void *a, const void *b)
{
	return strcmp(*(const char *const *)a, *(const char *const *)b);
}

/* Adds up what all services used, and leaves those that are asked for and can be compared. */
static int compare_services(struct moves *m)
{
	struct mover_list *l = m->list;
	size_t n = 0;

	l->unbased = calloc(m->n_services + 1, sizeof(*l->unbased));
	if (!l->unbased)
		return -ENOMEM;
	for (size_t i = 0; i < m->n_services; i++) {
		const struct service *s = &m->services[i];

		for (int side = 0; side < 2; side++)
			l->cores[side] += s->cores[side];
		if (m->only && !bsearch(&s->name, m->only, m->n_only, sizeof(*m->only), by_text))
			continue;
		if (s->cores[1] > 0)
			m->services[n++] = *s;
		else
			l->unbased[l->n_unbased++] = s->name;
	}
	m->n_services = n;
	return 0;
}

/* Leaves the services whose samples are read. */
static void choose_services(struct moves *m)
{
	struct mover_list *l = m->list;
	uint64_t n_samples = 0;
	size_t n = 0;

	qsort(m->services, m->n_services, sizeof(*m->services), most_cores_first);
	l->n_services = m->n_services;
	for (; n < m->n_services && n < MAX_SERVICES; n++) {
		n_samples += m->services[n].n_samples;
		if (n > 0 && n_samples > MAX_SAMPLES)
			break;
	}
	l->n_services_cut = m->n_services - n;
	l->cut_cores = n < m->n_services ? most(&m->services[n]) : 0;
	m->n_services = n;
}

/* Rows are sorted by service and type. */
static int read_services(struct moves *m, struct bound_query *q, struct err *err)
{
	struct service now = {0};
	struct rowbinary_reader r;
	struct spans spans;
	int e = find_spans(m, q, &spans, err);

	if (e < 0)
		return e;
	m->services = calloc(spans.n_rows + 1, sizeof(*m->services));
	if (!m->services)
		return -ENOMEM;
	rowbinary_reader_init(&r, q->answer.data, q->answer.len);
	while (e == 0 && rowbinary_has_more(&r)) {
		struct used u = read_used(&r);

		if (m->f->service && u.name_len == 0)
			continue;
		if (!is_of(&now, &u)) {
			take_service(m, &now);
			e = name_service(m, &u, &spans, &now);
		}
		if (e == 0)
			add_used(&now, &u, &spans);
	}
	if (e == 0)
		take_service(m, &now);
	return e < 0 ? e : bound_query_check(&r, err);
}

static bool is_long(const struct query_filter *f)
{
	return f->to_ns - f->from_ns >= LONG_NS;
}

/* Whether most of what the store has is of this range. */
static bool is_most(const struct query_filter *f)
{
	return f->to_ns - f->from_ns >= MOST_NS;
}

/* The last border of blocks at a time or before it. */
static uint64_t block_of(int64_t ns)
{
	return ns > 0 ? (uint64_t)(ns / SCHEMA_BLOCK_NS) : 0;
}

/* Binds the range of a side, and its first and last border of blocks. */
static void bind_side(struct bound_query *q, const struct query_filter *f, bool base)
{
	const struct query_filter range = {.from_ns = f->from_ns, .to_ns = f->to_ns};
	const uint64_t head = block_of(f->from_ns + SCHEMA_BLOCK_NS - 1);
	const uint64_t tail = block_of(f->to_ns);

	bound_query_use_side(q, base);
	if (base)
		bound_query_bind(q, &range);
	bound_query_add_uint(q, "head_block", head);
	bound_query_add_uint(q, "tail_block", tail);
	bound_query_add_uint(q, "head", head * SCHEMA_BLOCK_NS);
	bound_query_add_uint(q, "tail", tail * SCHEMA_BLOCK_NS);
	bound_query_use_side(q, false);
}

/* init has bound the range. */
static void bind_sides(struct bound_query *q, const struct moves *m)
{
	bound_query_add_uint(q, "all", is_most(m->f) || is_most(m->base));
	bind_side(q, m->f, false);
	bind_side(q, m->base, true);
}

/* Adds SELECTs of the profiles of a side, all or those outside of whole blocks. */
static void add_profiles(struct bound_query *q, const struct moves *m, bool base, bool all)
{
	static const char *const whole[] = {SQL_PARTS SQL_PROFILES_END};
	static const char *const blocks[] = {
		SQL_WHOLE BETWEEN("") SQL_PROFILES_END,
		SQL_PARTS SQL_BEFORE_HEAD SQL_PROFILES_END,
		SQL_PARTS SQL_BEHIND_TAIL SQL_PROFILES_END,
	};
	bool by_block = is_long(base ? m->base : m->f);
	size_t n = by_block ? ARRAY_SIZE(blocks) : ARRAY_SIZE(whole);

	bound_query_use_side(q, base);
	for (size_t i = all ? 0 : 1; i < n; i++) {
		bound_query_addf(q, "%sSELECT %d", i == 0 && !base ? "" : " UNION ALL ", base);
		bound_query_add_sql(q, m->f, by_block ? blocks[i] : whole[i]);
	}
	bound_query_use_side(q, false);
}

static int query_services(struct moves *m, struct err *err)
{
	CLEANUP(bound_query_fini) struct bound_query q;
	const struct query_filter *f = m->f;
	const bool both = is_long(f) && is_long(m->base);
	int r;

	bound_query_init(&q, m->store, f, MAX_ANSWER_BYTES);
	bind_sides(&q, m);
	bound_query_addf(&q, "WITH profiles AS (");
	if (both)
		bound_query_add_sql(&q, f, SQL_BLOCKS_OF_BOTH);
	add_profiles(&q, m, false, !both);
	add_profiles(&q, m, true, !both);
	bound_query_add_sql(&q, f, f->service ? SQL_USED_BY_ONE : SQL_USED_BY_ALL);
	r = bound_query_run(&q, err);
	if (r < 0)
		return r;
	r = read_services(m, &q, err);
	if (r == 0)
		r = compare_services(m);
	if (r == 0)
		choose_services(m);
	return r;
}

/* ---- 2 · stacks that changed, 3 · their functions ---- */

static int add_services(struct bound_query *q, const struct moves *m)
{
	AUTO_FREE const char **names = calloc(m->n_services + 1, sizeof(*names));
	AUTO_FREE const char **types = calloc(m->n_services + 1, sizeof(*types));

	if (!names || !types)
		return -ENOMEM;
	for (size_t i = 0; i < m->n_services; i++) {
		names[i] = m->services[i].name;
		types[i] = m->services[i].type;
	}
	bound_query_add_texts(q, "services", names, m->n_services);
	bound_query_add_texts(q, "types", types, m->n_services);
	return 0;
}

static int add_rates(struct bound_query *q, const struct moves *m)
{
	AUTO_FREE double *rates = calloc(m->n_services + 1, sizeof(*rates));

	if (!rates)
		return -ENOMEM;
	for (int side = 0; side < 2; side++) {
		for (size_t i = 0; i < m->n_services; i++)
			rates[i] = m->services[i].rate[side];
		bound_query_add_doubles(q, side == 0 ? "rates" : "base_rates", rates,
					m->n_services);
	}
	return 0;
}

/* Uploads may contain any value. */
static int64_t to_int(double v)
{
	return v >= 0x1p63 ? INT64_MAX : v <= -0x1p63 ? INT64_MIN : isnan(v) ? 0 : (int64_t)v;
}

static int read_mover(struct rowbinary_reader *r, struct moves *m, struct mover *ret,
		      const char **ret_key)
{
	struct arena *a = &m->list->arena;
	size_t key_len, frame_len;
	uint64_t n = rowbinary_get_u64(r);
	const char *key = rowbinary_get_string(r, &key_len);
	double self = rowbinary_get_f64(r), base_self = rowbinary_get_f64(r);
	const char *frame = rowbinary_get_string(r, &frame_len);
	const struct service *s = n > 0 && n <= m->n_services ? &m->services[n - 1] : NULL;
	struct frame_text text;

	m->is_exact = rowbinary_get_u8(r) != 0;
	if (!s || !key || !frame)
		return -EBADMSG;
	frame_text_split(&text, frame, frame_len);
	*ret = (struct mover){
		.service = s->name,
		.type = s->type,
		.name = arena_strndup(a, text.name, text.name_len),
		.file = arena_strndup(a, text.file, text.file_len),
		.self = to_int(self),
		.base_self = to_int(base_self),
		.cores = self * s->rate[0],
		.base_cores = base_self * s->rate[1],
	};
	*ret_key = arena_strndup(a, key, key_len);
	return ret->name && ret->file && *ret_key ? 0 : -ENOMEM;
}

static double change(const struct mover *m)
{
	return fabs(m->cores - m->base_cores);
}

static int largest_change_first(const void *a, const void *b)
{
	const struct mover *x = a, *y = b;
	int c;

	if (change(x) > change(y) || change(x) < change(y))
		return change(x) > change(y) ? -1 : 1;
	c = strcmp(x->service, y->service);
	return c ? c : strcmp(x->name, y->name);
}

/* Takes the rows (service, key, self, base self, frame, exact) of an answer, max at most. */
static int read_movers(struct moves *m, const struct bound_query *q, size_t max, struct err *err)
{
	struct mover_list *l = m->list;
	struct rowbinary_reader r;
	int e = 0;

	l->n_items = 0;
	rowbinary_reader_init(&r, q->answer.data, q->answer.len);
	while (e == 0 && rowbinary_has_more(&r) && l->n_items < max) {
		e = read_mover(&r, m, &l->items[l->n_items], &m->keys[l->n_items]);
		l->n_items += e == 0;
	}
	if (e < 0 && e != -EBADMSG)
		return e;
	return e < 0 ? err_set(err, e, "unexpected answer of the store")
		     : bound_query_check(&r, err);
}

static int ask(struct moves *m, struct bound_query *q, const char *const (*forms)[2],
	       struct err *err)
{
	const char *sql = forms[is_long(m->f) || is_long(m->base)][m->n_services == 1];
	int r;

	bind_sides(q, m);
	r = add_services(q, m);
	if (r < 0)
		return r;
	bound_query_add_sql(q, m->f, sql);
	return bound_query_run(q, err);
}

static int query_candidates(struct moves *m, size_t max, struct err *err)
{
	static const char *const forms[2][2] = FORMS(SQL_CHANGED);
	CLEANUP(bound_query_fini) struct bound_query q;
	int r;

	bound_query_init(&q, m->store, m->f, MAX_ANSWER_BYTES);
	r = add_rates(&q, m);
	if (r < 0)
		return r;
	bound_query_add_uint(&q, "max", MAX_STACKS);
	bound_query_add_uint(&q, "candidates", max);
	r = ask(m, &q, forms, err);
	return r == 0 ? read_movers(m, &q, max, err) : r;
}

/* Leaves the services that have candidates. */
static void drop_services(struct moves *m)
{
	size_t n = 0;

	for (size_t i = 0; i < m->n_services; i++) {
		bool has = false;

		for (size_t k = 0; !has && k < m->list->n_items; k++)
			has = m->list->items[k].service == m->services[i].name;
		if (has)
			m->services[n++] = m->services[i];
	}
	m->n_services = n;
}

/* Parameters may travel in an address: candidates beyond that many bytes are left out. */
static int add_candidates(struct bound_query *q, const struct moves *m)
{
	const struct mover_list *l = m->list;
	AUTO_FREE const char **owners = calloc(l->n_items + 1, sizeof(*owners));
	size_t n_bytes = 0, n = 0;

	if (!owners)
		return -ENOMEM;
	for (; n < l->n_items && n_bytes < MAX_CANDIDATE_BYTES; n++) {
		const char *owner = l->items[n].service, *key = m->keys[n];

		if (!owner || !key) /* each item has both: for the static analyser */
			break;
		owners[n] = owner;
		n_bytes += strlen(owner) + strlen(key);
	}
	bound_query_add_texts(q, "owners", owners, n);
	bound_query_add_texts(q, "keys", m->keys, n);
	return 0;
}

static int query_exact(struct moves *m, size_t max, struct err *err)
{
	static const char *const forms[2][2] = FORMS(SQL_EXACT);
	CLEANUP(bound_query_fini) struct bound_query q;
	int r;

	bound_query_init(&q, m->store, m->f, MAX_ANSWER_BYTES);
	drop_services(m);
	r = add_candidates(&q, m);
	if (r < 0)
		return r;
	r = ask(m, &q, forms, err);
	return r == 0 ? read_movers(m, &q, max, err) : r;
}

static int find_movers(struct moves *m, uint32_t limit, struct err *err)
{
	struct mover_list *l = m->list;
	size_t max = (size_t)limit * MAX_CANDIDATES_PER_MOVER;
	int r = query_services(m, err);

	if (r < 0 || !l->has_data[0] || m->n_services == 0)
		return r;
	l->items = calloc(max + 1, sizeof(*l->items));
	m->keys = calloc(max + 1, sizeof(*m->keys));
	if (!l->items || !m->keys)
		return -ENOMEM;
	r = query_candidates(m, max, err);
	if (r == 0 && l->n_items > 0 && !m->is_exact)
		r = query_exact(m, max, err);
	if (r == 0)
		r = mover_names_add(m->f->symbols, l);
	if (r < 0)
		return r;
	mover_list_join(l);
	qsort(l->items, l->n_items, sizeof(*l->items), largest_change_first);
	l->n_items = l->n_items < limit ? l->n_items : limit;
	return 0;
}

int mover_query(struct store *store, const struct query_filter *range,
		const struct query_filter *base, uint32_t limit, struct mover_list *ret,
		struct err *err)
{
	const struct query_filter f = {
		.service = range->service && range->service[0] ? range->service : NULL,
		.from_ns = range->from_ns,
		.to_ns = range->to_ns,
		.ticket = range->ticket,
		.symbols = range->symbols,
	};
	struct mover_list l = {.base_from_ns = base->from_ns, .base_to_ns = base->to_ns};
	struct moves m = {store, &f, base, range->services, range->n_services, .list = &l};
	int r;

	arena_init(&l.arena, MAX_LIST_BYTES);
	r = find_movers(&m, limit < MOVER_QUERY_MAX ? limit : MOVER_QUERY_MAX, err);
	free(m.services);
	free(m.keys);
	if (r < 0) {
		mover_list_fini(&l);
		return r;
	}
	*ret = l;
	return 0;
}

void mover_list_fini(struct mover_list *l)
{
	free(l->items);
	free(l->unbased);
	l->items = NULL;
	l->unbased = NULL;
	arena_fini(&l->arena);
}
