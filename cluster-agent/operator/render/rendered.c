#include "cluster-agent/operator/render/rendered.h"

#include <errno.h>

/* apiVersion and kind first, as people write them. */
static json_t *with_kind(const struct object_kind_info *info, json_t *body)
{
	json_t *object =
		json_pack("{s:s s:s}", "apiVersion", info->api_version, "kind", info->kind);

	if (object && json_object_update(object, body) < 0) {
		json_decref(object);
		object = NULL;
	}
	json_decref(body);
	return object;
}

/* OBJECT_KIND_MAX if it is none of ours. */
static enum object_kind kind_of(const json_t *body)
{
	const char *name = json_string_value(json_object_get(body, "kind"));
	enum object_kind kind = 0;

	while (kind < OBJECT_KIND_MAX && !(name && !strcmp(object_kinds[kind].kind, name)))
		kind++;
	return kind;
}

int rendered_add(struct rendered *r, json_t *body)
{
	enum object_kind kind = kind_of(body);
	const json_t *metadata = json_object_get(body, "metadata");
	struct rendered_object *objects, *o;

	if (body &&
	    (kind == OBJECT_KIND_MAX || !json_string_value(json_object_get(metadata, "name")))) {
		json_decref(body);
		return -EINVAL;
	}
	body = body ? with_kind(&object_kinds[kind], body) : NULL;
	if (!body)
		return -ENOMEM;
	objects = realloc(r->objects, (r->n_objects + 1) * sizeof(*objects));
	if (!objects) {
		json_decref(body);
		return -ENOMEM;
	}
	r->objects = objects;
	o = &objects[r->n_objects++];
	*o = (struct rendered_object){
		.kind = kind,
		.namespace = json_string_value(json_object_get(metadata, "namespace")),
		.name = json_string_value(json_object_get(metadata, "name")),
		.body = body,
	};
	return 0;
}

/* Returns a copy that lives as long as r, or NULL if memory is short. */
static const char *keep(struct rendered *r, const char *text)
{
	json_t *s = json_string(text);

	if (!r->names)
		r->names = json_array();
	return json_array_append_new(r->names, s) == 0 ? json_string_value(s) : NULL;
}

int rendered_want_secret(struct rendered *r, const char *name, const char *key, size_t length)
{
	struct wanted_secret *secrets, wanted = {.length = length};

	for (size_t i = 0; i < r->n_secrets; i++) {
		if (!strcmp(r->secrets[i].name, name) && !strcmp(r->secrets[i].key, key))
			return 0;
	}
	wanted.name = keep(r, name);
	wanted.key = keep(r, key);
	if (!wanted.name || !wanted.key)
		return -ENOMEM;
	secrets = realloc(r->secrets, (r->n_secrets + 1) * sizeof(*secrets));
	if (!secrets)
		return -ENOMEM;
	r->secrets = secrets;
	r->secrets[r->n_secrets++] = wanted;
	return 0;
}

void rendered_fini(struct rendered *r)
{
	for (size_t i = 0; i < r->n_objects; i++)
		json_decref(r->objects[i].body);
	free(r->objects);
	free(r->secrets);
	json_decref(r->names);
	*r = (struct rendered){0};
}
