/* A function over all applications, as JSON. */
#include <math.h>

#include "cluster-agent/query/profile_query.h"
#include "cluster-agent/query/read/application_query.h"
#include "cluster-agent/query/read/fleet_query.h"
#include "cluster-agent/query/read/profile_types.h"
#include "cluster-agent/store/projections.h"
#include "common/system/clock.h"
#include "common/text/json_writer.h"

#define DEFAULT_APPLICATIONS 100u
#define DEFAULT_NAMES 20u
#define CPU_UNIT "nanoseconds"

static void put_ms(struct json_writer *w, const char *key, int64_t ns)
{
	json_key(w, key);
	if (ns > 0)
		json_put_int(w, ns / (int64_t)NS_PER_MS);
	else
		json_put_null(w);
}

/* Values are sums of whole numbers, or means of levels. */
static void put_number(struct json_writer *w, const char *key, double v)
{
	json_key(w, key);
	json_put_double(w, round(v));
}

static void put_value(struct json_writer *w, const struct fleet_value *v)
{
	put_number(w, "self", v->self);
	put_number(w, "total", v->total);
	put_number(w, "whole", v->whole);
}

static void put_version(struct json_writer *w, const struct fleet_version *v)
{
	json_open(w, '{');
	json_member_text(w, "version", v->name);
	put_value(w, &v->value);
	put_ms(w, "firstDay", v->first_ns);
	put_ms(w, "lastDay", v->last_ns);
	json_close(w, '}');
}

static void put_application(struct json_writer *w, const struct fleet_list *l,
			    const struct fleet_application *a)
{
	size_t len;
	const char *namespace = application_namespace(a->service, strlen(a->service), &len);

	json_open(w, '{');
	json_member_text(w, "service", a->service);
	json_key(w, "namespace");
	json_put_string(w, namespace, len);
	json_member_text(w, "type", a->type);
	put_value(w, &a->value);
	put_ms(w, "since", a->since_ns);
	json_key(w, "days");
	json_open(w, '[');
	for (uint32_t i = 0; i < l->n_days; i++)
		json_put_double(w, round(a->days[i]));
	json_close(w, ']');
	json_key(w, "versions");
	json_open(w, '[');
	for (size_t i = 0; i < a->n_versions; i++)
		put_version(w, &a->versions[i]);
	json_close(w, ']');
	json_close(w, '}');
}

static void put_sums(struct json_writer *w, const struct fleet_list *l, const char *type)
{
	bool adds_up = !type || profile_type_get(type)->aggregation == PROFILE_AGGREGATION_SUM;

	json_key(w, "n");
	json_put_int(w, (int64_t)l->n_applications);
	put_number(w, "self", adds_up ? l->self : NAN);
	put_number(w, "total", adds_up ? l->total : NAN);
}

static void put_fleet(struct json_writer *w, const struct fleet_list *l,
		      const struct query_request *p)
{
	const char *type = p->filter.type && p->filter.type[0] ? p->filter.type : NULL;

	json_open(w, '{');
	json_member_text(w, "function", p->name);
	json_member_text(w, "unit", type ? profile_type_unit(type) : CPU_UNIT);
	json_key(w, "from");
	json_put_int(w, l->from_ns / (int64_t)NS_PER_MS);
	put_ms(w, "to", l->from_ns + l->n_days * SCHEMA_DAY_NS);
	put_ms(w, "upTo", l->up_to_ns);
	json_key(w, "kept");
	json_put_int(w, FLEET_QUERY_KEPT);
	put_sums(w, l, type);
	json_key(w, "applications");
	json_open(w, '[');
	for (size_t i = 0; i < l->n_items; i++)
		put_application(w, l, &l->items[i]);
	json_close(w, ']');
	json_close(w, '}');
}

int profile_query_fleet(struct store *store, const struct query_request *p, struct buf *out,
			struct err *err)
{
	struct fleet_list list;
	struct json_writer w;
	const struct fleet_question q = {&p->filter, p->name, p->version,
					 p->limit > 0 ? p->limit : DEFAULT_APPLICATIONS};
	int r = fleet_query(store, &q, &list, err);

	if (r < 0)
		return r;
	json_writer_init(&w, out);
	put_fleet(&w, &list, p);
	fleet_list_fini(&list);
	return json_writer_finish(&w);
}

int profile_query_names(struct store *store, const struct query_request *p, struct buf *out,
			struct err *err)
{
	struct fleet_names names;
	struct json_writer w;
	int r = fleet_query_names(store, &p->filter, p->search,
				  p->limit > 0 ? p->limit : DEFAULT_NAMES, &names, err);

	if (r == 0) {
		json_writer_init(&w, out);
		json_open(&w, '{');
		json_key(&w, "functions");
		json_open(&w, '[');
		for (size_t i = 0; i < names.n_items; i++)
			json_put_string(&w, names.items[i], strlen(names.items[i]));
		json_close(&w, ']');
		json_close(&w, '}');
		r = json_writer_finish(&w);
	}
	arena_fini(&names.arena);
	return r;
}
