#include "common/flame/flame_columns.h"

#include <stddef.h>

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

void flame_columns_put(struct json_writer *w, struct column_block *block,
		       const struct flame_view *v, bool with_base)
{
	put_texts(w, "names", v->names, v->name_lens, v->n_names);
	put_texts(w, "files", v->files, v->file_lens, v->n_files);
	if (block)
		put_pairs(w, block, v);
	put_nodes(w, block, v, with_base);
	put_other(w, v, with_base);
}

void flame_columns_put_functions(struct json_writer *w, struct column_block *block,
				 const struct flame_view *v, bool with_base)
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
	const size_t n = with_base ? ARRAY_SIZE(members) : ARRAY_SIZE(members) - 2;

	json_key(w, "functions");
	json_open(w, '{');
	for (size_t i = 0; i < n; i++)
		put_column(w, block, members[i].name,
			   &(struct column){(const char *)v->functions + members[i].at,
					    sizeof(*v->functions), v->n_functions,
					    members[i].is_wide});
	json_close(w, '}');
	json_member_int(w, "functionsCut", v->functions_cut);
}
