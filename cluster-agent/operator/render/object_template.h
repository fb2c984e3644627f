/*
 * Fills in templates of objects. Pure.
 *
 * A template is a tree whose texts have places: "<name>" alone is replaced by the value of that
 * name, of whatever type, "a-<name>-b" by a text with the value in it. A value is given, or it is
 * a template itself, a part. "<name.member>" is a member of a given value. What is given is never
 * read as a template.
 *
 * What has no value is left out: a member, an item, a text with a place, an array with nothing else
 * in it. An empty array or object that is given is no value. In an array, one that takes a place
 * there is replaced by its items, and of items with the same "name", as variables have one, the
 * last stays.
 *
 * Members of an object whose names begin with '$' say what becomes of it:
 *
 *   $if: <name>          it is left out if there is no such value, or if it is false
 *   $then: …             this takes the place of the object
 *   $each: x, $of: <n>   it is repeated: <x> is 0, 1, … below n, or each item of an array
 */
#ifndef CLUSTER_AGENT_OPERATOR_RENDER_OBJECT_TEMPLATE_H
#define CLUSTER_AGENT_OPERATOR_RENDER_OBJECT_TEMPLATE_H

#include <jansson.h>

#include "common/base.h"
#include "common/err.h"

#define OBJECT_PARTS_MAX 4

struct object_scope {
	json_t *values;                  /* by name; <x> of $each comes and goes */
	json_t *parts[OBJECT_PARTS_MAX]; /* NULL: none; the first that has a name counts */
};

/*
 * *ret is a new reference, or NULL if nothing is left. Returns 0, -ENOMEM, or -EBADMSG if the
 * template is wrong: parts of each other without end, or in a text a value that is none.
 */
int object_template_fill(json_t **ret, json_t *template,
			 const struct object_scope *scope) MUST_CHECK;

/*
 * The parts of ../templates or of the chart's files/agents.yaml that are below this name. They live
 * as long as the process, and never change. NULL if there are none, or no memory to read them.
 */
json_t *object_templates(const char *name);

/* The text of all files, concatenated. */
extern const char object_templates_yaml[];

/*
 * Reads a YAML document. *ret is a new reference. Returns 0, -ENOMEM, or -EBADMSG with "LINE: what
 * is wrong", or "is not an object", in err.
 */
int object_yaml_load(json_t **ret, const char *text, size_t len, struct err *err) MUST_CHECK;

#endif /* CLUSTER_AGENT_OPERATOR_RENDER_OBJECT_TEMPLATE_H */
