#include "cluster-agent/query/flame_json.h"

#include "cluster-agent/query/read/profile_types.h"
#include "common/system/clock.h"

static void put_u32s(struct json_writer *w, const char *key, const uint32_t *v, uint32_t n)
{
	json_key(w, key);
	json_open(w, '[');
	for (uint32_t i = 0; i < n; i++)
		json_put_int(w, v[i]);
	json_close(w, ']');
}

static void put_i64s(struct json_writer *w, const char *key, const int64_t *v, uint32_t n)
{
	json_key(w, key);
	json_open(w, '[');
	for (uint32_t i = 0; i < n; i++)
		json_put_int(w, v[i]);
	json_close(w, ']');
}

static void put_texts(struct json_writer *w, const char *key, const char *const *texts,
		      const size_t *lens, uint32_t n)
{
	json_key(w, key);
	json_open(w, '[');
	for (uint32_t i = 0; i < n; i++)
		json_put_string(w, texts[i], lens[i]);
	json_close(w, ']');
}

static void put_counts(struct json_writer *w, const char *key, const struct stack_query_counts *c)
{
	json_key(w, key);
	json_open(w, '{');
	for (size_t i = 0; i < c->n; i++)
		json_member_int(w, c->items[i].name, (int64_t)c->items[i].count);
	json_close(w, '}');
}

static void put_quality(struct json_writer *w, const struct stack_query_quality *s)
{
	json_key(w, "quality");
	json_open(w, '{');
	json_member_int(w, "samples", (int64_t)s->n_samples);
	json_member_int(w, "truncated", (int64_t)s->n_truncated);
	json_member_int(w, "lost", (int64_t)s->lost.total);
	put_counts(w, "lostReasons", &s->lost);
	put_counts(w, "runtimes", &s->runtimes);
	put_counts(w, "unwinding", &s->unwinding);
	json_close(w, '}');
}

static void put_nodes(struct json_writer *w, const struct flame_view *v, bool base)
{
	json_key(w, "nodes");
	json_open(w, '{');
	put_u32s(w, "name", v->node_name, v->n_nodes);
	put_u32s(w, "file", v->node_file, v->n_nodes);
	put_u32s(w, "depth", v->node_depth, v->n_nodes);
	put_i64s(w, "total", v->node_total, v->n_nodes);
	put_i64s(w, "self", v->node_self, v->n_nodes);
	if (base) {
		put_i64s(w, "baseTotal", v->node_base_total, v->n_nodes);
		put_i64s(w, "baseSelf", v->node_base_self, v->n_nodes);
	}
	put_u32s(w, "inlined", v->node_inlined, v->n_inlined);
	json_close(w, '}');
	json_key(w, "other");
	json_open(w, '{');
	json_member_int(w, "nodes", (int64_t)v->other_nodes);
	json_member_int(w, "value", v->other_value);
	if (base)
		json_member_int(w, "base", v->other_base);
	json_close(w, '}');
}

void flame_json_put_tree(struct json_writer *w, const struct flame_view *v, bool with_base)
{
	put_texts(w, "names", v->names, v->name_lens, v->n_names);
	put_texts(w, "files", v->files, v->file_lens, v->n_files);
	put_nodes(w, v, with_base);
}

enum function_column {
	COLUMN_NAME,
	COLUMN_FILE,
	COLUMN_SELF,
	COLUMN_TOTAL,
	COLUMN_BASE_SELF,
	COLUMN_BASE_TOTAL,
	COLUMN_MAX,
};

static int64_t column_value(const struct flame_function *f, enum function_column column)
{
	switch (column) {
	case COLUMN_NAME:
		return f->name;
	case COLUMN_FILE:
		return f->file;
	case COLUMN_SELF:
		return f->self;
	case COLUMN_BASE_SELF:
		return f->base_self;
	case COLUMN_BASE_TOTAL:
		return f->base_total;
	default:
		return f->total;
	}
}

static void put_functions(struct json_writer *w, const struct flame_view *v, bool base)
{
	static const char *const names[COLUMN_MAX] = {"name",  "file",     "self",
						      "total", "baseSelf", "baseTotal"};
	const enum function_column n = base ? COLUMN_MAX : COLUMN_BASE_SELF;

	json_key(w, "functions");
	json_open(w, '{');
	for (enum function_column c = 0; c < n; c++) {
		json_key(w, names[c]);
		json_open(w, '[');
		for (uint32_t i = 0; i < v->n_functions; i++)
			json_put_int(w, column_value(&v->functions[i], c));
		json_close(w, ']');
	}
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

int flame_json_write(struct buf *out, const struct flame_json_sides *sides,
		     const struct flame_view *v, const struct stack_query_result *stacks)
{
	const struct query_filter *f = sides->filter;
	const bool base = sides->base != NULL;
	struct json_writer w;

	json_writer_init(&w, out);
	json_open(&w, '{');
	json_member_text(&w, "service", f->service);
	json_member_text(&w, "type", f->type);
	json_member_text(&w, "unit", profile_type_unit(f->type));
	json_member_int(&w, "from", f->from_ns / (int64_t)NS_PER_MS);
	json_member_int(&w, "to", f->to_ns / (int64_t)NS_PER_MS);
	json_member_int(&w, "total", v->node_total[0]);
	put_quality(&w, &stacks->quality);
	if (base)
		put_rate(&w, &sides->rate);
	if (base)
		put_base(&w, sides, stacks);
	flame_json_put_tree(&w, v, base);
	put_functions(&w, v, base);
	json_member_int(&w, "functionsCut", v->functions_cut);
	json_key(&w, "zoomed");
	json_put_bool(&w, v->zoomed);
	json_member_int(&w, "stacks", (int64_t)stacks->n_stacks);
	json_member_int(&w, "stacksCut", (int64_t)stacks->n_stacks_cut);
	json_member_int(&w, "valueCut", stacks->cut.value);
	if (base)
		json_member_int(&w, "baseCut", stacks->cut.base);
	json_close(&w, '}');
	return json_writer_finish(&w);
}
