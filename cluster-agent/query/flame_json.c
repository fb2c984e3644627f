#include "cluster-agent/query/flame_json.h"

#include "cluster-agent/query/profile_types.h"
#include "common/system/clock.h"
#include "common/text/json_writer.h"

static void put_text(struct json_writer *w, const char *key, const char *s)
{
	json_key(w, key);
	json_put_string(w, s, strlen(s));
}

static void put_int(struct json_writer *w, const char *key, int64_t v)
{
	json_key(w, key);
	json_put_int(w, v);
}

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

static void put_quality(struct json_writer *w, const struct stack_query_result *s)
{
	json_key(w, "quality");
	json_open(w, '{');
	put_int(w, "samples", (int64_t)s->n_samples);
	put_int(w, "truncated", (int64_t)s->n_truncated);
	put_int(w, "lost", (int64_t)s->n_lost);
	json_key(w, "lostReasons");
	json_open(w, '{');
	for (size_t i = 0; i < s->n_reasons; i++)
		put_int(w, s->reasons[i].name, (int64_t)s->reasons[i].count);
	json_close(w, '}');
	json_close(w, '}');
}

static void put_nodes(struct json_writer *w, const struct flame_view *v)
{
	json_key(w, "nodes");
	json_open(w, '{');
	put_u32s(w, "name", v->node_name, v->n_nodes);
	put_u32s(w, "file", v->node_file, v->n_nodes);
	put_u32s(w, "depth", v->node_depth, v->n_nodes);
	put_i64s(w, "total", v->node_total, v->n_nodes);
	put_i64s(w, "self", v->node_self, v->n_nodes);
	json_close(w, '}');
	json_key(w, "other");
	json_open(w, '{');
	put_int(w, "nodes", (int64_t)v->other_nodes);
	put_int(w, "value", v->other_value);
	json_close(w, '}');
}

enum function_column {
	COLUMN_NAME,
	COLUMN_FILE,
	COLUMN_SELF,
	COLUMN_TOTAL,
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
	default:
		return f->total;
	}
}

static void put_functions(struct json_writer *w, const struct flame_view *v)
{
	static const char *const names[COLUMN_MAX] = {"name", "file", "self", "total"};

	json_key(w, "functions");
	json_open(w, '{');
	for (enum function_column c = 0; c < COLUMN_MAX; c++) {
		json_key(w, names[c]);
		json_open(w, '[');
		for (uint32_t i = 0; i < v->n_functions; i++)
			json_put_int(w, column_value(&v->functions[i], c));
		json_close(w, ']');
	}
	json_close(w, '}');
}

int flame_json_write(struct buf *out, const struct query_filter *f, const struct flame_view *v,
		     const struct stack_query_result *stacks)
{
	struct json_writer w;

	json_writer_init(&w, out);
	json_open(&w, '{');
	put_text(&w, "service", f->service);
	put_text(&w, "type", f->type);
	put_text(&w, "unit", profile_type_unit(f->type));
	put_int(&w, "from", f->from_ns / (int64_t)NS_PER_MS);
	put_int(&w, "to", f->to_ns / (int64_t)NS_PER_MS);
	put_int(&w, "total", v->node_total[0]);
	put_quality(&w, stacks);
	put_texts(&w, "names", v->names, v->name_lens, v->n_names);
	put_texts(&w, "files", v->files, v->file_lens, v->n_files);
	put_nodes(&w, v);
	put_functions(&w, v);
	put_int(&w, "stacks", (int64_t)stacks->n_stacks);
	put_int(&w, "stacksCut", (int64_t)stacks->n_stacks_cut);
	put_int(&w, "valueCut", stacks->value_cut);
	json_close(&w, '}');
	return json_writer_finish(&w);
}
