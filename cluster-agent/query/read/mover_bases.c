/*
 * The hours of a day resemble those of the day before more than those before them, so that is what
 * a jump is measured by. But the store may be younger than a day, and so may a service. The base of
 * such a service is where its profiles begin, so that what has jumped since then stays on the list
 * until yesterday is its base. With the time right before as the base, a jump would be on the list
 * for as long as the range is, and then be gone although it has lasted.
 *
 * Services that are not of one age need a query for each; those of more than MAX_AGES ages are
 * compared with the time right before.
 */
#include "cluster-agent/query/read/mover_bases.h"

#include <errno.h>
#include <math.h>

#include "cluster-agent/query/read/bound_query.h"
#include "cluster-agent/query/read/query_filter.h"
#include "common/system/clock.h"

#define DAY_NS (INT64_C(86400) * (int64_t)NS_PER_S)
#define MAX_AGES 2u
#define MAX_ANSWER_BYTES ((size_t)16 << 20)

#define SQL_FIRST                                                                              \
	"SELECT ServiceName, toUnixTimestamp64Nano(min(Start)) FROM ${quality} WHERE Type IN " \
	"(${cpu_types}) AND ${range} GROUP BY ServiceName"

static struct query_filter earlier(const struct query_filter *f, int64_t ns)
{
	return (struct query_filter){
		.from_ns = f->from_ns > ns ? f->from_ns - ns : 0,
		.to_ns = f->to_ns > ns ? f->to_ns - ns : 1,
	};
}

static int copy_text(struct arena *a, const char **text)
{
	*text = arena_strndup(a, *text, strlen(*text));
	return *text ? 0 : -ENOMEM;
}

static double change(const struct mover *m)
{
	return fabs(m->cores - m->base_cores);
}

/* Puts items of `from`, which is sorted as l is, between those of l. */
static int merge(struct mover_list *l, const struct mover_list *from, uint32_t limit)
{
	size_t n = l->n_items + from->n_items, i = 0, k = 0;
	struct mover *items = calloc(n + 1, sizeof(*items));
	int r = 0;

	if (!items)
		return -ENOMEM;
	n = n < limit ? n : limit;
	for (size_t at = 0; r == 0 && at < n; at++) {
		bool own = k == from->n_items ||
			   (i < l->n_items && change(&l->items[i]) >= change(&from->items[k]));

		items[at] = own ? l->items[i++] : from->items[k++];
		if (own)
			continue;
		items[at].base_from_ns = from->base_from_ns;
		items[at].base_to_ns = from->base_to_ns;
		r = copy_text(&l->arena, &items[at].service);
		r = r < 0 ? r : copy_text(&l->arena, &items[at].type);
		r = r < 0 ? r : copy_text(&l->arena, &items[at].name);
		r = r < 0 ? r : copy_text(&l->arena, &items[at].file);
	}
	free(l->items);
	l->items = items;
	l->n_items = r == 0 ? n : 0;
	l->n_unbased = from->n_unbased;
	for (size_t at = 0; r == 0 && at < from->n_unbased; at++) {
		l->unbased[at] = from->unbased[at];
		r = copy_text(&l->arena, &l->unbased[at]);
	}
	l->n_services += from->n_services;
	l->n_services_cut += from->n_services_cut;
	l->cut_cores = fmax(l->cut_cores, from->cut_cores);
	return r;
}

/* Compares the services of l that have no base yet with that range. */
static int add_unbased(struct store *store, const struct query_filter *range,
		       const struct query_filter *base, uint32_t limit, struct mover_list *l,
		       struct err *err)
{
	struct query_filter f = *range;
	struct mover_list more;
	int r;

	f.services = l->unbased;
	f.n_services = l->n_unbased;
	r = mover_query(store, &f, base, limit, &more, err);
	if (r < 0)
		return r;
	if (l->has_data[1]) {
		r = merge(l, &more, limit);
		mover_list_fini(&more);
		return r;
	}
	mover_list_fini(l);
	*l = more;
	return 0;
}

struct text {
	const char *data;
	size_t len;
};

static int compare_text(const void *key, const void *name)
{
	const struct text *t = key;
	const char *s = *(const char *const *)name;
	size_t len = strlen(s);
	int c = memcmp(t->data, s, t->len < len ? t->len : len);

	return c ? c : (t->len > len) - (t->len < len);
}

/* When the first profile of the services without a base began, in the day before the range. */
static int find_first(struct store *store, const struct query_filter *range,
		      const struct mover_list *l, int64_t *ret_ns, struct err *err)
{
	CLEANUP(bound_query_fini) struct bound_query q;
	struct query_filter day = earlier(range, DAY_NS);
	struct rowbinary_reader r;
	int e;

	*ret_ns = day.to_ns = range->from_ns;
	day.ticket = range->ticket;
	e = bound_query_ask(&q, store, &day, MAX_ANSWER_BYTES, SQL_FIRST, err);
	if (e < 0)
		return e;
	rowbinary_reader_init(&r, q.answer.data, q.answer.len);
	while (rowbinary_has_more(&r)) {
		struct text name = {0};
		int64_t first_ns;

		name.data = rowbinary_get_string(&r, &name.len);
		first_ns = rowbinary_get_i64(&r);
		if (name.data && first_ns < *ret_ns &&
		    bsearch(&name, l->unbased, l->n_unbased, sizeof(*l->unbased), compare_text))
			*ret_ns = first_ns;
	}
	return bound_query_check(&r, err);
}

static int add_bases(struct store *store, const struct query_filter *range, uint32_t limit,
		     struct mover_list *l, struct err *err)
{
	const int64_t length_ns = range->to_ns - range->from_ns;
	const struct query_filter before = earlier(range, length_ns);

	for (uint32_t i = 0; i < MAX_AGES && l->n_unbased > 0; i++) {
		struct query_filter base = {0};
		int r = find_first(store, range, l, &base.from_ns, err);

		if (r < 0)
			return r;
		base.to_ns = base.from_ns + length_ns;
		if (base.to_ns >= before.to_ns)
			break;
		r = add_unbased(store, range, &base, limit, l, err);
		if (r < 0)
			return r;
	}
	return l->n_unbased > 0 ? add_unbased(store, range, &before, limit, l, err) : 0;
}

int mover_query_since(struct store *store, const struct query_filter *range, uint32_t limit,
		      struct mover_list *ret, struct err *err)
{
	const struct query_filter day_before = earlier(range, DAY_NS);
	int r = mover_query(store, range, &day_before, limit, ret, err);

	if (r < 0 || ret->n_unbased == 0 || range->to_ns - range->from_ns >= DAY_NS)
		return r;
	r = add_bases(store, range, limit, ret, err);
	if (r < 0)
		mover_list_fini(ret);
	return r;
}
