/* Answers of the start page: all applications, the functions that moved, and what grew. */
#include <errno.h>
#include <math.h>

#include "cluster-agent/query/profile_query.h"
#include "cluster-agent/query/read/application_query.h"
#include "cluster-agent/query/read/level_query.h"
#include "cluster-agent/query/read/mover_bases.h"
#include "cluster-agent/query/read/mover_query.h"
#include "common/system/clock.h"
#include "common/text/json_writer.h"

#define DEFAULT_MOVERS 20u
#define DEFAULT_LEVELS 10u

static void put_ms(struct json_writer *w, const char *key, int64_t ns)
{
	json_key(w, key);
	json_put_int(w, ns / (int64_t)NS_PER_MS);
}

static void put_types(struct json_writer *w, const struct application *a)
{
	json_key(w, "types");
	json_open(w, '[');
	for (size_t i = 0; i < a->n_types; i++) {
		json_open(w, '{');
		json_key(w, "type");
		json_put_string(w, a->types[i].type, a->types[i].type_len);
		put_ms(w, "lastSeen", a->types[i].last_seen_ns);
		json_close(w, '}');
	}
	json_close(w, ']');
}

/* Four digits after the point are more than a sparkline shows, and a third of the bytes. */
static void put_spark(struct json_writer *w, const struct application *a, uint32_t n)
{
	json_key(w, "spark");
	json_open(w, '[');
	for (uint32_t i = 0; i < n; i++)
		json_put_double(w, a->spark ? round(a->spark[i] * 1e4) / 1e4 : NAN);
	json_close(w, ']');
}

static void put_application(struct json_writer *w, const struct application *a, uint32_t n_points)
{
	size_t len;
	const char *namespace =
		application_namespace(a->types->service, a->types->service_len, &len);

	json_open(w, '{');
	json_key(w, "service");
	json_put_string(w, a->types->service, a->types->service_len);
	json_key(w, "namespace");
	json_put_string(w, namespace, len);
	put_types(w, a);
	put_ms(w, "firstSeen", a->first_seen_ns);
	put_ms(w, "lastSeen", a->last_seen_ns);
	json_key(w, "cores");
	if (a->has_cores)
		json_put_double(w, a->cores);
	else
		json_put_null(w);
	if (n_points > 0)
		put_spark(w, a, n_points);
	json_close(w, '}');
}

int profile_query_applications(struct store *store, const struct query_request *p, struct buf *out,
			       struct err *err)
{
	const struct application_question question = {&p->filter, p->search, p->n_points, p->limit};
	struct application_list list;
	struct json_writer w;
	int r = application_query(store, &question, &list, err);

	if (r < 0)
		return r;
	json_writer_init(&w, out);
	json_open(&w, '{');
	json_key(&w, "applications");
	json_open(&w, '[');
	for (size_t i = 0; i < list.n_items; i++)
		put_application(&w, &list.items[i], list.n_points);
	json_close(&w, ']');
	json_key(&w, "n");
	json_put_int(&w, (int64_t)list.n_services);
	json_key(&w, "lastSeen");
	if (list.last_seen_ns > 0)
		json_put_int(&w, list.last_seen_ns / (int64_t)NS_PER_MS);
	else
		json_put_null(&w);
	json_close(&w, '}');
	application_list_fini(&list);
	return json_writer_finish(&w);
}

static void put_mover(struct json_writer *w, const struct mover *m)
{
	json_open(w, '{');
	json_member_text(w, "service", m->service);
	json_member_text(w, "type", m->type);
	json_member_text(w, "name", m->name);
	json_member_text(w, "file", m->file);
	json_key(w, "self");
	json_put_int(w, m->self);
	json_key(w, "baseSelf");
	json_put_int(w, m->base_self);
	json_key(w, "cores");
	json_put_double(w, m->cores);
	json_key(w, "baseCores");
	json_put_double(w, m->base_cores);
	if (m->base_to_ns > 0) {
		put_ms(w, "baseFrom", m->base_from_ns);
		put_ms(w, "baseTo", m->base_to_ns);
	}
	json_close(w, '}');
}

static void put_side(struct json_writer *w, const char *key, const struct mover_list *l, int side)
{
	json_key(w, key);
	if (l->has_data[side])
		json_put_double(w, l->cores[side]);
	else
		json_put_null(w);
}

static void put_movers(struct json_writer *w, const struct mover_list *l,
		       const struct query_filter *range)
{
	json_open(w, '{');
	put_ms(w, "from", range->from_ns);
	put_ms(w, "to", range->to_ns);
	put_ms(w, "baseFrom", l->base_from_ns);
	put_ms(w, "baseTo", l->base_to_ns);
	put_side(w, "cores", l, 0);
	put_side(w, "baseCores", l, 1);
	put_ms(w, "covered", (int64_t)l->covered_ns[0]);
	put_ms(w, "baseCovered", (int64_t)l->covered_ns[1]);
	json_key(w, "movers");
	json_open(w, '[');
	for (size_t i = 0; i < l->n_items; i++)
		put_mover(w, &l->items[i]);
	json_close(w, ']');
	json_key(w, "services");
	json_put_int(w, (int64_t)l->n_services);
	json_key(w, "servicesWithoutBase");
	json_put_int(w, (int64_t)l->n_unbased);
	json_key(w, "servicesCut");
	json_put_int(w, (int64_t)l->n_services_cut);
	json_key(w, "coresCut");
	json_put_double(w, l->cut_cores);
	json_close(w, '}');
}

int profile_query_movers(struct store *store, const struct query_request *p, struct buf *out,
			 struct err *err)
{
	const uint32_t limit = p->limit > 0 ? p->limit : DEFAULT_MOVERS;
	struct mover_list list;
	struct json_writer w;
	int r = p->has_base ? mover_query(store, &p->filter, &p->base, limit, &list, err)
			    : mover_query_since(store, &p->filter, limit, &list, err);

	if (r < 0)
		return r;
	json_writer_init(&w, out);
	put_movers(&w, &list, &p->filter);
	mover_list_fini(&list);
	return json_writer_finish(&w);
}

static void put_growth(struct json_writer *w, const struct level_growth *g, int64_t before_ns)
{
	json_open(w, '{');
	json_key(w, "service");
	json_put_string(w, g->service, g->service_len);
	json_key(w, "type");
	json_put_string(w, g->type, g->type_len);
	json_key(w, "value");
	json_put_double(w, round(g->value));
	json_key(w, "base");
	json_put_double(w, round(g->base));
	if (g->before)
		put_ms(w, "baseFrom", before_ns);
	json_close(w, '}');
}

int profile_query_levels(struct store *store, const struct query_request *p, struct buf *out,
			 struct err *err)
{
	const uint32_t limit = p->limit > 0 ? p->limit : DEFAULT_LEVELS;
	const struct query_filter *f = &p->filter;
	struct level_list list;
	struct json_writer w;
	int r = level_query(store, f, limit, &list, err);

	if (r < 0)
		return r;
	json_writer_init(&w, out);
	json_open(&w, '{');
	put_ms(&w, "from", f->from_ns);
	put_ms(&w, "to", f->to_ns);
	put_ms(&w, "baseFrom", list.base_from_ns);
	put_ms(&w, "baseTo", list.base_to_ns);
	json_key(&w, "levels");
	json_open(&w, '[');
	for (size_t i = 0; i < list.n_items; i++)
		put_growth(&w, &list.items[i], 2 * f->from_ns - f->to_ns);
	json_close(&w, ']');
	json_close(&w, '}');
	level_list_fini(&list);
	return json_writer_finish(&w);
}
