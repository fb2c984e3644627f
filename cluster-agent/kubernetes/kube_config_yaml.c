#include "cluster-agent/kubernetes/kube_config_yaml.h"

#include <errno.h>

#define MAX_LEVELS 32
#define MAX_NODES 200000

/* libyaml gives a line for everything but bytes that are no text. */
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

/* 1: the document has ended. */
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
