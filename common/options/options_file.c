#include "common/options/options_file.h"

#include <errno.h>
#include <fcntl.h>

#include <yaml.h>

#include "common/data/buf.h"
#include "common/options/option_value.h"
#include "common/system/fs.h"

static int read_file(const char *path, struct buf *out, struct err *err)
{
	int r = fs_read_at(AT_FDCWD, path, out);

	if (r == -EFBIG)
		return err_set(err, -EINVAL, "%s: larger than %zu bytes", path, OPTIONS_FILE_BYTES);
	return r < 0 && r != -ENOMEM ? err_set(err, r, "read %s: %s", path, strerror(-r)) : r;
}

/* libyaml gives a line for every error but bytes that are not UTF-8. */
static int parser_error(const yaml_parser_t *parser, const char *path, const struct buf *text,
			struct err *err)
{
	size_t line = parser->problem_mark.line + 1;

	if (parser->error == YAML_MEMORY_ERROR)
		return -ENOMEM;
	if (parser->error == YAML_READER_ERROR) {
		line = 1;
		for (size_t i = 0; i < parser->problem_offset && i < text->len; i++)
			line += text->data[i] == '\n';
	}
	return err_set(err, -EINVAL, "%s:%zu: %s", path, line,
		       parser->problem ? parser->problem : "not valid YAML");
}

static bool is_null(const yaml_node_t *node)
{
	const char *s = (const char *)node->data.scalar.value;

	if (node->data.scalar.length == 0)
		return true;
	return node->data.scalar.style == YAML_PLAIN_SCALAR_STYLE &&
	       (strcmp(s, "~") == 0 || strcmp(s, "null") == 0);
}

/* Returns NULL if the node is not a single value, or if the value contains a NUL. */
static const char *scalar_text(const yaml_node_t *node)
{
	const char *s = (const char *)node->data.scalar.value;

	if (node->type != YAML_SCALAR_NODE || strlen(s) != node->data.scalar.length)
		return NULL;
	return s;
}

/* The items of a sequence as lines; -EINVAL if an item is not a single value. */
static int join_items(yaml_document_t *doc, const yaml_node_t *node, char **ret)
{
	CLEANUP(buf_fini) struct buf lines;
	int r = 0;

	buf_init(&lines, OPTIONS_FILE_BYTES);
	for (const yaml_node_item_t *i = node->data.sequence.items.start;
	     i < node->data.sequence.items.top && r == 0; i++) {
		const char *text = scalar_text(yaml_document_get_node(doc, *i));

		if (!text)
			return -EINVAL;
		r = lines.len > 0 ? buf_add(&lines, "\n", 1) : 0;
		if (r == 0)
			r = buf_add(&lines, text, strlen(text));
	}
	if (r == 0)
		r = buf_add(&lines, "", 1);
	if (r < 0)
		return r;
	*ret = strdup(lines.data);
	return *ret ? 0 : -ENOMEM;
}

/* Where the pairs of a document go. */
struct target {
	const struct option_def *defs;
	void *opts;
	bool *seen; /* per option */
	const char *path;
	yaml_document_t *doc;
};

/* A list as a sequence. */
static int set_sequence(const struct target *t, const struct option_def *d, const yaml_node_t *node,
			const char *where, struct err *err)
{
	char *items = NULL;
	int r = join_items(t->doc, node, &items);

	if (r == -EINVAL)
		return err_set(err, r, "%s: expected one value", where);
	if (r == 0)
		r = option_set(d, t->opts, where, items, err);
	free(items);
	return r;
}

/* Applies one "key: value". */
static int set_pair(const struct target *t, const yaml_node_t *const pair[2], struct err *err)
{
	const char *key = scalar_text(pair[0]), *value = scalar_text(pair[1]);
	unsigned long line = pair[0]->start_mark.line + 1;
	const struct option_def *d;
	char where[sizeof(err->msg)];

	if (!key)
		return err_set(err, -EINVAL, "%s:%lu: expected \"name: value\"", t->path, line);
	d = option_find(t->defs, key, strlen(key));
	if (!d)
		return err_set(err, -EINVAL, "%s:%lu: unknown key \"%s\"", t->path, line, key);
	if (t->seen[d - t->defs])
		return err_set(err, -EINVAL, "%s:%lu: %s is given twice", t->path, line, key);
	t->seen[d - t->defs] = true;
	snprintf(where, sizeof(where), "%s:%lu: %s", t->path, line, key);
	if (d->type == OPTION_LIST && pair[1]->type == YAML_SEQUENCE_NODE)
		return set_sequence(t, d, pair[1], where, err);
	if (!value)
		return err_set(err, -EINVAL, "%s: expected one value", where);
	return is_null(pair[1]) ? 0 : option_set(d, t->opts, where, value, err);
}

static int set_document(const struct option_def *defs, void *opts, const char *path,
			yaml_document_t *doc, struct err *err)
{
	yaml_node_t *root = yaml_document_get_root_node(doc);
	AUTO_FREE bool *seen = NULL;
	struct target t;
	size_t n = 0;
	int r = 0;

	/* the file is empty, or has only comments or "---" */
	if (!root || (root->type == YAML_SCALAR_NODE && is_null(root)))
		return 0;
	if (root->type != YAML_MAPPING_NODE)
		return err_set(err, -EINVAL, "%s:%zu: expected \"name: value\"", path,
			       root->start_mark.line + 1);
	while (defs[n].name)
		n++;
	seen = calloc(n + 1, sizeof(*seen));
	if (!seen)
		return -ENOMEM;

	t = (struct target){defs, opts, seen, path, doc};
	for (yaml_node_pair_t *p = root->data.mapping.pairs.start;
	     p < root->data.mapping.pairs.top && r == 0; p++) {
		const yaml_node_t *pair[2] = {yaml_document_get_node(doc, p->key),
					      yaml_document_get_node(doc, p->value)};

		r = set_pair(&t, pair, err);
	}
	return r;
}

/* The stream must hold one document: options in a second one would be ignored. */
static int check_end(yaml_parser_t *parser, const char *path, const struct buf *text,
		     struct err *err)
{
	yaml_document_t doc;
	int r = 0;

	if (!yaml_parser_load(parser, &doc))
		return parser_error(parser, path, text, err);
	if (yaml_document_get_root_node(&doc))
		r = err_set(err, -EINVAL, "%s:%zu: more than one document", path,
			    doc.start_mark.line + 1);
	yaml_document_delete(&doc);
	return r;
}

int options_load_file(const struct option_def *defs, void *opts, const char *path, struct err *err)
{
	CLEANUP(buf_fini) struct buf text;
	yaml_parser_t parser;
	yaml_document_t doc;
	int r;

	buf_init(&text, OPTIONS_FILE_BYTES);
	r = read_file(path, &text, err);
	if (r < 0 || text.len == 0)
		return r;
	if (!yaml_parser_initialize(&parser))
		return -ENOMEM;

	yaml_parser_set_input_string(&parser, (const unsigned char *)text.data, text.len);
	if (!yaml_parser_load(&parser, &doc)) {
		r = parser_error(&parser, path, &text, err);
	} else {
		r = set_document(defs, opts, path, &doc, err);
		yaml_document_delete(&doc);
		if (r == 0)
			r = check_end(&parser, path, &text, err);
	}
	yaml_parser_delete(&parser);
	return r;
}
