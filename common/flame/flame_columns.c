#include "common/flame/flame_columns.h"

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

void flame_columns_put(struct json_writer *w, const struct flame_view *v, bool with_base)
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

void flame_columns_put_functions(struct json_writer *w, const struct flame_view *v, bool with_base)
{
	static const char *const names[COLUMN_MAX] = {"name",  "file",     "self",
						      "total", "baseSelf", "baseTotal"};
	const enum function_column n = with_base ? COLUMN_MAX : COLUMN_BASE_SELF;

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
	json_member_int(w, "functionsCut", v->functions_cut);
}
