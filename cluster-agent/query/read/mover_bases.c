/*
 * The hours of a day resemble those of the day before more than those before them, so that is what
 * a jump is measured by. But the store may be younger than a day, and so may a service. Such a
 * service has a base, too: the time right before, in which it ran as it is. It takes a second
 * query, of these services only.
 */
#include "cluster-agent/query/read/mover_bases.h"

#include <errno.h>
#include <math.h>

#include "cluster-agent/query/read/query_filter.h"
#include "common/system/clock.h"

#define DAY_NS (INT64_C(86400) * (int64_t)NS_PER_S)

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
		items[at].before = true;
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

/* Compares the services of l that a day before had no profiles with the time right before. */
static int add_unbased(struct store *store, const struct query_filter *range, uint32_t limit,
		       struct mover_list *l, struct err *err)
{
	const struct query_filter before = earlier(range, range->to_ns - range->from_ns);
	struct query_filter f = *range;
	struct mover_list more;
	int r;

	f.services = l->unbased;
	f.n_services = l->n_unbased;
	r = mover_query(store, &f, &before, limit, &more, err);
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

int mover_query_since(struct store *store, const struct query_filter *range, uint32_t limit,
		      struct mover_list *ret, struct err *err)
{
	const struct query_filter day_before = earlier(range, DAY_NS);
	int r = mover_query(store, range, &day_before, limit, ret, err);

	if (r < 0 || ret->n_unbased == 0 || range->to_ns - range->from_ns >= DAY_NS)
		return r;
	r = add_unbased(store, range, limit, ret, err);
	if (r < 0)
		mover_list_fini(ret);
	return r;
}
