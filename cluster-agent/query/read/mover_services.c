/*
 * Profiles need not cover a side, and how much they cover differs by service: a store may be
 * younger than the base, a node-agent may have been away, a service may have been deployed in the
 * middle. So the cores of a service are its CPU time divided by the time from its own first to its
 * own last profile, as those of a comparison of the service are. By the time of the side, or of all
 * services, the functions of one that began in the middle of the base would have grown.
 *
 * The cores of all services together are their CPU time divided by the time of all.
 */
#include "cluster-agent/query/read/mover_services.h"

#include <errno.h>
#include <math.h>

#include "cluster-agent/query/read/profile_types.h"
#include "cluster-agent/query/read/timeline_query.h"
#include "cluster-agent/store/projections.h"

#define MAX_ANSWER_BYTES ((size_t)64 << 20)

/*
 * A side of at least LONG_NS is read from the projections of projections.h, and only blocks that
 * are not wholly within it by profile or sample.
 */
#define LONG_NS (3 * SCHEMA_BLOCK_NS)
/* What is kept by default. To leave out rows costs a third of what it costs to add up all. */
#define MOST_NS (7 * SCHEMA_DAY_NS)

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
	"sum(p_own), sum(p_n), min(p_begin), max(p_last), max(p_stop), "                         \
	"toFloat64(sum(p_stop - p_begin)) FROM profiles "                                        \
	"GROUP BY side, name, Type, name != '' AND Type NOT IN (${gapless_cpu_types}) AS each, " \
	"if(each, Host, ''), if(each, Instance, 0) ORDER BY name, Type"
#define SQL_USED_BY_ALL SQL_USED("ServiceName")
#define SQL_USED_BY_ONE SQL_USED("if(ServiceName = {service:String}, ServiceName, '')")

static int rank_of(const struct mover_service *s)
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
	double reach; /* ns from the first profile of each instance to the end of its last one */
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
	u.reach = rowbinary_get_f64(r);
	return u;
}

/* How much of a side is between two times. */
static double within(const struct moves *m, int side, int64_t begin_ns, int64_t stop_ns)
{
	const struct query_filter *f = side == 0 ? m->f : m->base;
	int64_t from_ns = begin_ns > f->from_ns ? begin_ns : f->from_ns;
	int64_t to_ns = stop_ns < f->to_ns ? stop_ns : f->to_ns;

	return to_ns > from_ns ? (double)(to_ns - from_ns) : 0;
}

static int find_spans(struct moves *m, const struct bound_query *q, size_t *ret_n, struct err *err)
{
	int64_t begin_ns[2] = {INT64_MAX, INT64_MAX}, stop_ns[2] = {INT64_MIN, INT64_MIN};
	struct rowbinary_reader r;
	size_t n = 0;

	rowbinary_reader_init(&r, q->answer.data, q->answer.len);
	for (; rowbinary_has_more(&r); n++) {
		struct used u = read_used(&r);

		if (u.begin_ns < begin_ns[u.side])
			begin_ns[u.side] = u.begin_ns;
		if (u.stop_ns > stop_ns[u.side])
			stop_ns[u.side] = u.stop_ns;
	}
	for (int side = 0; side < 2; side++) {
		m->span_ns[side] = within(m, side, begin_ns[side], stop_ns[side]);
		m->list->covered_ns[side] = m->span_ns[side];
	}
	*ret_n = n;
	return bound_query_check(&r, err);
}

/* From the start of the first profile to where the last one stands for, of equal distances. */
static double reach_of(const struct used *u)
{
	double n = (double)u->n_profiles;

	return (double)((uint64_t)u->last_ns - (uint64_t)u->begin_ns) * n / fmax(n - 1, 1);
}

/* CPU time within the side, of an instance as if its profiles had no gaps up to {hold}. */
static double held(const struct used *u, double span_ns)
{
	double most = u->covered + (double)u->n_profiles * (double)TIMELINE_HOLD_NS;
	double covered = fmin(most, fmin(reach_of(u), span_ns));

	return u->within * fmax(covered / u->covered, 1);
}

static bool is_of(const struct mover_service *s, const struct used *u)
{
	return s->name && u->name && u->type && strlen(s->name) == u->name_len &&
	       strlen(s->type) == u->type_len && memcmp(s->name, u->name, u->name_len) == 0 &&
	       memcmp(s->type, u->type, u->type_len) == 0;
}

static int name_service(struct moves *m, const struct used *u, struct mover_service *s)
{
	struct mover_list *l = m->list;

	*s = (struct mover_service){
		.name = arena_strndup(&l->arena, u->name ? u->name : "", u->name_len),
		.type = arena_strndup(&l->arena, u->type ? u->type : "", u->type_len),
		.begin_ns = {INT64_MAX, INT64_MAX},
		.stop_ns = {INT64_MIN, INT64_MIN},
	};
	for (int side = 0; side < 2; side++)
		l->has_data[side] |= m->span_ns[side] > 0;
	return s->name && s->type ? 0 : -ENOMEM;
}

static bool has_gaps(const struct mover_service *s)
{
	return !profile_type_get(s->type)->node_agent;
}

/* Until take_service(), `rate` is the CPU time in the samples. */
static void add_used(struct mover_service *s, const struct used *u, double span_ns)
{
	int64_t stop_ns = u->stop_ns;

	if (has_gaps(s) && u->begin_ns + (int64_t)reach_of(u) > stop_ns)
		stop_ns = u->begin_ns + (int64_t)reach_of(u);
	s->n_samples += u->n_samples;
	if (span_ns <= 0)
		return;
	s->used_ns[u->side] += has_gaps(s) ? held(u, span_ns) : u->within;
	s->rate[u->side] += u->all;
	s->covered_ns[u->side] += u->covered;
	s->reach_ns[u->side] += u->reach;
	if (u->begin_ns < s->begin_ns[u->side])
		s->begin_ns[u->side] = u->begin_ns;
	if (stop_ns > s->stop_ns[u->side])
		s->stop_ns[u->side] = stop_ns;
}

/*
 * The time of a side in which the service had profiles, at most. Those without gaps cover no more
 * than they last together, divided by how many instances there were at a time.
 */
static double time_of(const struct moves *m, const struct mover_service *s, int side)
{
	double ns = within(m, side, s->begin_ns[side], s->stop_ns[side]);
	double all = (double)s->stop_ns[side] - (double)s->begin_ns[side];

	if (!has_gaps(s) && all > 0)
		ns = fmin(ns, s->covered_ns[side] / fmax(s->reach_ns[side] / all, 1));
	return ns > 0 ? ns : m->span_ns[side];
}

/* Takes a service that has been read; of the types of one the best stays. */
static void take_service(struct moves *m, struct mover_service *s)
{
	struct mover_service *last = m->n_services > 0 ? &m->services[m->n_services - 1] : NULL;

	if (!s->name)
		return;
	for (int side = 0; side < 2; side++) {
		if (s->used_ns[side] > 0)
			s->cores[side] = s->used_ns[side] / time_of(m, s, side);
		s->rate[side] = s->rate[side] > 0 ? s->cores[side] / s->rate[side] : 0;
	}
	s->rank = rank_of(s);
	if (!last || strcmp(last->name, s->name) != 0)
		m->services[m->n_services++] = *s;
	else if (s->rank > last->rank)
		*last = *s;
}

/* Rows are sorted by service and type. */
static int read_services(struct moves *m, struct bound_query *q, struct err *err)
{
	struct mover_service now = {0};
	struct rowbinary_reader r;
	size_t n_rows = 0;
	int e = find_spans(m, q, &n_rows, err);

	if (e < 0)
		return e;
	m->services = calloc(n_rows + 1, sizeof(*m->services));
	if (!m->services)
		return -ENOMEM;
	rowbinary_reader_init(&r, q->answer.data, q->answer.len);
	while (e == 0 && rowbinary_has_more(&r)) {
		struct used u = read_used(&r);

		if (m->f->service && u.name_len == 0)
			continue;
		if (!is_of(&now, &u)) {
			take_service(m, &now);
			e = name_service(m, &u, &now);
		}
		if (e == 0)
			add_used(&now, &u, m->span_ns[u.side]);
	}
	if (e == 0)
		take_service(m, &now);
	return e < 0 ? e : bound_query_check(&r, err);
}

bool mover_side_is_long(const struct query_filter *f)
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

void mover_sides_bind(struct bound_query *q, const struct moves *m)
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
	bool by_block = mover_side_is_long(base ? m->base : m->f);
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
	const bool both = mover_side_is_long(f) && mover_side_is_long(m->base);
	int r;

	bound_query_init(&q, m->store, f, MAX_ANSWER_BYTES);
	mover_sides_bind(&q, m);
	bound_query_addf(&q, "WITH profiles AS (");
	if (both)
		bound_query_add_sql(&q, f, SQL_BLOCKS_OF_BOTH);
	add_profiles(&q, m, false, !both);
	add_profiles(&q, m, true, !both);
	bound_query_add_sql(&q, f, f->service ? SQL_USED_BY_ONE : SQL_USED_BY_ALL);
	r = bound_query_run(&q, err);
	if (r < 0)
		return r;
	return read_services(m, &q, err);
}

int mover_services_find(const struct moves *moves, struct mover_services *ret, struct err *err)
{
	struct moves m = *moves;
	int r = query_services(&m, err);

	*ret = (struct mover_services){.items = m.services, .n = m.n_services};
	memcpy(ret->span_ns, m.span_ns, sizeof(ret->span_ns));
	return r;
}
