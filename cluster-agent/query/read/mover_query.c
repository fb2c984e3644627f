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
 * Cores are comparable if there are no profiles in a part of a range, as they are CPU time divided
 * by the time from the first to the last profile of the service (mover_services.c). Scraped
 * profiles stand for the gaps between them as in application_query.c. Both are in one factor per
 * service and side (rate).
 */
#include "cluster-agent/query/read/mover_query.h"

#include <errno.h>
#include <math.h>

#include "cluster-agent/query/read/mover_join.h"
#include "cluster-agent/query/read/mover_names.h"
#include "cluster-agent/query/read/mover_services.h"
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

/* ---- 1 · services ---- */

static double most(const struct mover_service *s)
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
static void compare_services(struct moves *m, struct mover_list *l)
{
	size_t n = 0;

	for (size_t i = 0; i < m->n_services; i++) {
		const struct mover_service *s = &m->services[i];

		for (int side = 0; side < 2; side++)
			if (m->span_ns[side] > 0)
				l->cores[side] += s->used_ns[side] / m->span_ns[side];
		if (m->only && !bsearch(&s->name, m->only, m->n_only, sizeof(*m->only), by_text))
			continue;
		if (s->cores[1] > 0)
			m->services[n++] = *s;
		else
			l->unbased[l->n_unbased++] = s->name;
	}
	m->n_services = n;
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
	const struct mover_service *s = n > 0 && n <= m->n_services ? &m->services[n - 1] : NULL;
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
	const char *sql =
		forms[mover_side_is_long(m->f) || mover_side_is_long(m->base)][m->n_services == 1];
	int r;

	mover_sides_bind(q, m);
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
	struct mover_services found;
	int r = mover_services_find(m, &found, err);

	m->services = found.items;
	m->n_services = found.n;
	memcpy(m->span_ns, found.span_ns, sizeof(m->span_ns));
	if (r < 0)
		return r;
	l->unbased = arena_calloc(&l->arena, m->n_services + 1, sizeof(*l->unbased));
	if (!l->unbased)
		return -ENOMEM;
	compare_services(m, l);
	choose_services(m);
	if (!l->has_data[0] || m->n_services == 0)
		return 0;
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
	l->items = NULL;
	l->unbased = NULL;
	arena_fini(&l->arena);
}
