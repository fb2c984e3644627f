#include "cluster-agent/query/flame_json.h"

#include "cluster-agent/query/read/profile_types.h"
#include "common/flame/flame_columns.h"
#include "common/system/clock.h"

static void put_counts(struct json_writer *w, const char *key, const struct quality_counts *c)
{
	json_key(w, key);
	json_open(w, '{');
	for (size_t i = 0; i < c->n; i++)
		json_member_int(w, c->items[i].name, (int64_t)c->items[i].count);
	json_close(w, '}');
}

static void put_quality(struct json_writer *w, const struct quality *s)
{
	json_key(w, "quality");
	json_open(w, '{');
	json_member_text(w, "scope", s->of_all ? "application" : "selection");
	json_member_int(w, "samples", (int64_t)s->n_samples);
	json_member_int(w, "truncated", (int64_t)s->n_truncated);
	json_member_int(w, "lost", (int64_t)s->lost.total);
	put_counts(w, "lostReasons", &s->lost);
	put_counts(w, "runtimes", &s->runtimes);
	put_counts(w, "unwinding", &s->unwinding);
	json_close(w, '}');
}

static void put_rate(struct json_writer *w, const struct timeline_rate *rate)
{
	json_key(w, "rate");
	json_put_double(w, rate->value);
	json_member_int(w, "covered", (int64_t)(rate->covered_ns / (double)NS_PER_MS));
}

static void put_base(struct json_writer *w, const struct flame_json_sides *sides,
		     const struct stack_query_result *stacks)
{
	const struct query_filter *base = sides->base;

	json_key(w, "base");
	json_open(w, '{');
	json_member_text(w, "service", base->service);
	json_member_int(w, "from", base->from_ns / (int64_t)NS_PER_MS);
	json_member_int(w, "to", base->to_ns / (int64_t)NS_PER_MS);
	json_member_int(w, "total", stacks->total.base);
	json_member_int(w, "stacks", (int64_t)stacks->n_base_stacks);
	put_rate(w, &sides->base_rate);
	put_quality(w, &stacks->base_quality);
	json_close(w, '}');
}

/* Of builds without symbols; what a server has may be there the next time. */
static void put_missing(struct json_writer *w, const struct missing_names *m)
{
	if (m->n == 0)
		return;
	json_key(w, "symbols");
	json_open(w, '[');
	for (size_t i = 0; i < m->n; i++) {
		json_open(w, '{');
		json_member_text(w, "build", m->builds[i].build_id);
		json_key(w, "coming");
		json_put_bool(w, m->builds[i].is_coming);
		json_member_text(w, "why", m->builds[i].why);
		json_close(w, '}');
	}
	json_close(w, ']');
}

int flame_json_write(struct buf *out, const struct flame_json_sides *sides,
		     const struct flame_view *v, const struct stack_query_result *stacks)
{
	const struct query_filter *f = sides->filter;
	const bool base = sides->base != NULL;
	struct column_block columns;
	struct column_block *block = sides->columns ? &columns : NULL;
	struct json_writer w;
	int r = block ? column_block_begin(block, out) : 0;

	if (r < 0)
		return r;
	json_writer_init(&w, out);
	json_open(&w, '{');
	json_member_text(&w, "service", f->service);
	json_member_text(&w, "type", f->type);
	json_member_text(&w, "unit", profile_type_unit(f->type));
	json_member_int(&w, "from", f->from_ns / (int64_t)NS_PER_MS);
	json_member_int(&w, "to", f->to_ns / (int64_t)NS_PER_MS);
	json_member_int(&w, "total", v->node_total[0]);
	put_quality(&w, &stacks->quality);
	put_missing(&w, &stacks->missing);
	if (base)
		put_rate(&w, &sides->rate);
	if (base)
		put_base(&w, sides, stacks);
	flame_columns_put(&w, block, v, base);
	flame_columns_put_functions(&w, block, v, base);
	json_key(&w, "zoomed");
	json_put_bool(&w, v->zoomed);
	json_member_int(&w, "stacks", (int64_t)stacks->n_stacks);
	json_member_int(&w, "stacksCut", (int64_t)stacks->n_stacks_cut);
	json_member_int(&w, "valueCut", stacks->cut.value);
	if (base)
		json_member_int(&w, "baseCut", stacks->cut.base);
	json_close(&w, '}');
	r = json_writer_finish(&w);
	return r == 0 && block ? column_block_finish(block, out) : r;
}
