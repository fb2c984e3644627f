#include "cluster-agent/query/flame_json.h"

#include <stddef.h>

#include "cluster-agent/query/column_block.h"
#include "cluster-agent/query/read/profile_types.h"
#include "common/system/clock.h"

/* block: where the numbers go instead; NULL: they are an array here. */
static void put_column(struct json_writer *w, struct column_block *block, const char *key,
		       const struct column *c)
{
	const char *at = c->first;

	json_key(w, key);
	if (block) {
		column_block_put(block, w, c);
		return;
	}
	json_open(w, '[');
	for (uint32_t i = 0; i < c->n; i++, at += c->stride)
		json_put_int(w, c->is_wide ? *(const int64_t *)(const void *)at
					   : *(const uint32_t *)(const void *)at);
	json_close(w, ']');
}

static void put_u32s(struct json_writer *w, struct column_block *block, const char *key,
		     const uint32_t *v, uint32_t n)
{
	put_column(w, block, key, &(struct column){v, sizeof(*v), n, false});
}

static void put_i64s(struct json_writer *w, struct column_block *block, const char *key,
		     const int64_t *v, uint32_t n)
{
	put_column(w, block, key, &(struct column){v, sizeof(*v), n, true});
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

static void put_nodes(struct json_writer *w, struct column_block *block, const struct flame_view *v,
		      bool base)
{
	json_key(w, "nodes");
	json_open(w, '{');
	if (block) {
		put_u32s(w, block, "function", v->node_pair, v->n_nodes);
	} else {
		put_u32s(w, block, "name", v->node_name, v->n_nodes);
		put_u32s(w, block, "file", v->node_file, v->n_nodes);
	}
	put_u32s(w, block, "depth", v->node_depth, v->n_nodes);
	put_i64s(w, block, "total", v->node_total, v->n_nodes);
	put_i64s(w, block, "self", v->node_self, v->n_nodes);
	if (base) {
		put_i64s(w, block, "baseTotal", v->node_base_total, v->n_nodes);
		put_i64s(w, block, "baseSelf", v->node_base_self, v->n_nodes);
	}
	put_u32s(w, block, "inlined", v->node_inlined, v->n_inlined);
	json_close(w, '}');
}

static void put_pairs(struct json_writer *w, struct column_block *block, const struct flame_view *v)
{
	json_key(w, "pairs");
	json_open(w, '{');
	put_u32s(w, block, "name", v->pair_name, v->n_pairs);
	put_u32s(w, block, "file", v->pair_file, v->n_pairs);
	json_close(w, '}');
}

static void put_other(struct json_writer *w, const struct flame_view *v, bool base)
{
	json_key(w, "other");
	json_open(w, '{');
	json_member_int(w, "nodes", (int64_t)v->other_nodes);
	json_member_int(w, "value", v->other_value);
	if (base)
		json_member_int(w, "base", v->other_base);
	json_close(w, '}');
}

static void put_tree(struct json_writer *w, struct column_block *block, const struct flame_view *v,
		     bool with_base)
{
	put_texts(w, "names", v->names, v->name_lens, v->n_names);
	put_texts(w, "files", v->files, v->file_lens, v->n_files);
	if (block)
		put_pairs(w, block, v);
	put_nodes(w, block, v, with_base);
	put_other(w, v, with_base);
}

void flame_json_put_tree(struct json_writer *w, const struct flame_view *v, bool with_base)
{
	put_tree(w, NULL, v, with_base);
}

static void put_functions(struct json_writer *w, struct column_block *block,
			  const struct flame_view *v, bool base)
{
	static const struct {
		const char *name;
		size_t at;
		bool is_wide;
	} members[] = {
		{"name", offsetof(struct flame_function, name), false},
		{"file", offsetof(struct flame_function, file), false},
		{"self", offsetof(struct flame_function, self), true},
		{"total", offsetof(struct flame_function, total), true},
		{"baseSelf", offsetof(struct flame_function, base_self), true},
		{"baseTotal", offsetof(struct flame_function, base_total), true},
	};
	const size_t n = base ? ARRAY_SIZE(members) : ARRAY_SIZE(members) - 2;

	json_key(w, "functions");
	json_open(w, '{');
	for (size_t i = 0; i < n; i++)
		put_column(w, block, members[i].name,
			   &(struct column){(const char *)v->functions + members[i].at,
					    sizeof(*v->functions), v->n_functions,
					    members[i].is_wide});
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
	if (base)
		put_rate(&w, &sides->rate);
	if (base)
		put_base(&w, sides, stacks);
	put_tree(&w, block, v, base);
	put_functions(&w, block, v, base);
	json_member_int(&w, "functionsCut", v->functions_cut);
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
