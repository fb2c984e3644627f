#include "common/kubernetes/kube_config_yaml.h"

#include <errno.h>

#include "common/text/json_writer.h"

#define MAX_LEVELS 32
#define MAX_NODES 200000

/* libyaml reports a line for all errors but invalid characters. */
static int parser_error(const yaml_parser_t *parser, const char *text, size_t len, struct err *err)
{
	size_t line = parser->problem_mark.line + 1;

	if (parser->error == YAML_MEMORY_ERROR)
		return -ENOMEM;
	if (parser->error == YAML_READER_ERROR) {
		line = 1;
		for (size_t i = 0; i < parser->problem_offset && i < len; i++)
			line += text[i] == '\n';
	}
	return err_set(err, -EBADMSG, "%zu: %s", line,
		       parser->problem ? parser->problem : "not valid YAML");
}

struct size {
	size_t levels, nodes;
};

/* Returns 1 at the end of the document. */
static int add_event(struct size *size, const yaml_event_t *event, struct err *err)
{
	unsigned long line = event->start_mark.line + 1;

	switch (event->type) {
	case YAML_MAPPING_START_EVENT:
	case YAML_SEQUENCE_START_EVENT:
		if (++size->levels > MAX_LEVELS)
			return err_set(err, -EBADMSG, "%lu: nested too deeply", line);
		break;
	case YAML_MAPPING_END_EVENT:
	case YAML_SEQUENCE_END_EVENT:
		size->levels--;
		break;
	case YAML_DOCUMENT_END_EVENT:
	case YAML_STREAM_END_EVENT:
		return 1;
	default:
		break;
	}
	if (++size->nodes > MAX_NODES)
		return err_set(err, -EBADMSG, "%lu: too many values", line);
	return 0;
}

static int check_size(yaml_parser_t *parser, const char *text, size_t len, struct err *err)
{
	struct size size = {0};
	int r = 0;

	while (r == 0) {
		yaml_event_t event;

		if (!yaml_parser_parse(parser, &event))
			return parser_error(parser, text, len, err);
		r = add_event(&size, &event, err);
		yaml_event_delete(&event);
	}
	return r < 0 ? r : 0;
}

static int load(yaml_document_t *ret, const char *text, size_t len, struct err *err)
{
	yaml_parser_t parser;
	int r = 0;

	if (!yaml_parser_initialize(&parser))
		return -ENOMEM;
	yaml_parser_set_input_string(&parser, (const unsigned char *)text, len);
	if (!yaml_parser_load(&parser, ret))
		r = parser_error(&parser, text, len, err);
	yaml_parser_delete(&parser);
	return r;
}

int kube_config_yaml_load(yaml_document_t *ret, const char *text, size_t len, struct err *err)
{
	yaml_parser_t parser;
	int r;

	if (!yaml_parser_initialize(&parser))
		return -ENOMEM;
	yaml_parser_set_input_string(&parser, (const unsigned char *)text, len);
	r = check_size(&parser, text, len, err);
	yaml_parser_delete(&parser);
	return r < 0 ? r : load(ret, text, len, err);
}

static bool is_null(const yaml_node_t *node)
{
	const char *s = (const char *)node->data.scalar.value;

	if (node->type != YAML_SCALAR_NODE || node->data.scalar.style != YAML_PLAIN_SCALAR_STYLE)
		return false;
	return node->data.scalar.length == 0 || strcmp(s, "~") == 0 || strcmp(s, "null") == 0;
}

const yaml_node_t *kube_config_yaml_get(yaml_document_t *doc, const yaml_node_t *map,
					const char *key)
{
	if (!map || map->type != YAML_MAPPING_NODE)
		return NULL;
	for (const yaml_node_pair_t *p = map->data.mapping.pairs.start;
	     p < map->data.mapping.pairs.top; p++) {
		const char *name = kube_config_yaml_text(yaml_document_get_node(doc, p->key));
		const yaml_node_t *value = yaml_document_get_node(doc, p->value);

		if (name && strcmp(name, key) == 0)
			return is_null(value) ? NULL : value;
	}
	return NULL;
}

const char *kube_config_yaml_text(const yaml_node_t *node)
{
	const char *s;

	if (node->type != YAML_SCALAR_NODE)
		return NULL;
	s = (const char *)node->data.scalar.value;
	return strlen(s) == node->data.scalar.length ? s : NULL;
}

/*
 * ---- JSON -----------------------------------------------------------------------------------
 */

/* Returns false if the scalar is a string. */
static bool put_number(struct json_writer *w, const char *s)
{
	char *end;
	long long i;
	double d;

	if (!*s || s[strspn(s, "+-.0123456789eE")])
		return false;
	errno = 0;
	i = strtoll(s, &end, 10);
	if (!*end && errno == 0) {
		json_put_int(w, i);
		return true;
	}
	d = strtod(s, &end);
	if (*end || end == s)
		return false;
	json_put_double(w, d);
	return true;
}

static void put_scalar(struct json_writer *w, const yaml_node_t *node)
{
	const char *s = (const char *)node->data.scalar.value;
	bool is_plain = node->data.scalar.style == YAML_PLAIN_SCALAR_STYLE;

	if (is_null(node))
		json_put_null(w);
	else if (is_plain && (strcmp(s, "true") == 0 || strcmp(s, "false") == 0))
		json_put_bool(w, s[0] == 't');
	else if (!is_plain || !put_number(w, s))
		json_put_string(w, s, node->data.scalar.length);
}

/* Aliases cannot multiply the output beyond the writer's limit: its error stops the walk. */
/* NOLINTNEXTLINE(misc-no-recursion): at most MAX_LEVELS */
static int put_node(yaml_document_t *doc, const yaml_node_t *node, struct json_writer *w,
		    unsigned level)
{
	int r = 0;

	if (level > MAX_LEVELS)
		return -EBADMSG;
	if (node->type == YAML_SCALAR_NODE) {
		put_scalar(w, node);
	} else if (node->type == YAML_SEQUENCE_NODE) {
		json_open(w, '[');
		for (yaml_node_item_t *i = node->data.sequence.items.start;
		     i < node->data.sequence.items.top && r == 0 && w->error == 0; i++)
			r = put_node(doc, yaml_document_get_node(doc, *i), w, level + 1);
		json_close(w, ']');
	} else {
		json_open(w, '{');
		for (yaml_node_pair_t *p = node->data.mapping.pairs.start;
		     p < node->data.mapping.pairs.top && r == 0 && w->error == 0; p++) {
			const char *key =
				kube_config_yaml_text(yaml_document_get_node(doc, p->key));

			if (!key)
				return -EBADMSG;
			json_key(w, key);
			r = put_node(doc, yaml_document_get_node(doc, p->value), w, level + 1);
		}
		json_close(w, '}');
	}
	return r;
}

int kube_config_yaml_to_json(yaml_document_t *doc, const yaml_node_t *node, struct buf *out)
{
	struct json_writer w;
	int r, finished;

	json_writer_init(&w, out);
	r = put_node(doc, node, &w, 1);
	finished = json_writer_finish(&w);
	return r < 0 ? r : finished;
}
