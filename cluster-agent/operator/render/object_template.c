#include "cluster-agent/operator/render/object_template.h"

#include <errno.h>
#include <pthread.h>

#include "common/data/buf.h"
#include "common/kubernetes/kube_config_yaml.h"
#include "common/limits.h"

#define MAX_DEPTH 64
#define NAME_BYTES 64
#define TEXT_BYTES (16 * MIB) /* more than an object may have */

struct filling {
	const struct object_scope *scope;
	unsigned depth;
};

static int fill(struct filling *f, json_t *template, json_t **ret);

static bool is_nothing(const json_t *v)
{
	return !v || json_is_null(v) || (json_is_array(v) && json_array_size(v) == 0) ||
	       (json_is_object(v) && json_object_size(v) == 0);
}

/* NOLINTBEGIN(misc-no-recursion): at most MAX_DEPTH */

/* The value of a place, whose name has len bytes. */
static int find(struct filling *f, const char *name, size_t len, json_t **ret)
{
	char key[NAME_BYTES], *member;
	json_t *v;

	*ret = NULL;
	if (len >= sizeof(key))
		return -EBADMSG;
	memcpy(key, name, len);
	key[len] = '\0';
	member = strchr(key, '.');
	if (member)
		*member++ = '\0';
	v = json_object_get(f->scope->values, key);
	if (member)
		v = json_object_get(v, member);
	if (!is_nothing(v)) {
		*ret = json_incref(v);
		return 0;
	}
	for (size_t i = 0; i < OBJECT_PARTS_MAX && !member; i++) {
		v = json_object_get(f->scope->parts[i], key);
		if (v)
			return fill(f, v, ret);
	}
	return 0;
}

/* Appends the value of a place to a text. Returns 1 if it has none. */
static int add_value(struct filling *f, struct buf *text, const char *name, size_t len)
{
	json_t *v = NULL;
	int r = find(f, name, len, &v);

	if (r == 0 && !v)
		r = 1;
	else if (r == 0 && json_is_string(v))
		r = buf_add(text, json_string_value(v), json_string_length(v));
	else if (r == 0 && json_is_integer(v))
		r = buf_addf(text, "%lld", (long long)json_integer_value(v));
	else if (r == 0)
		r = -EBADMSG;
	json_decref(v);
	return r;
}

static int add_places(struct filling *f, struct buf *out, const char *text)
{
	const char *open, *close;
	int r = 0;

	while (r == 0 && (open = strchr(text, '<')) && (close = strchr(open, '>'))) {
		r = buf_add(out, text, (size_t)(open - text));
		if (r == 0)
			r = add_value(f, out, open + 1, (size_t)(close - open - 1));
		text = close + 1;
	}
	return r == 0 ? buf_add(out, text, strlen(text)) : r;
}

static int fill_text(struct filling *f, json_t *template, json_t **ret)
{
	const char *text = json_string_value(template);
	const char *open = strchr(text, '<'), *close = open ? strchr(open, '>') : NULL;
	CLEANUP(buf_fini) struct buf out;
	int r;

	buf_init(&out, TEXT_BYTES);
	if (!close) {
		*ret = json_incref(template);
		return 0;
	}
	if (open == text && !close[1])
		return find(f, open + 1, (size_t)(close - open - 1), ret);
	r = add_places(f, &out, text);
	if (r < 0)
		return r == -EFBIG ? -EBADMSG : r;
	if (r == 0)
		*ret = json_string(out.data);
	return r == 0 && !*ret ? -ENOMEM : 0;
}

static const char *name_of(const json_t *item)
{
	return json_string_value(json_object_get(item, "name"));
}

/* Appends an item, or the items of an array. */
static int append(json_t *array, json_t *v)
{
	if (json_is_array(v))
		return json_array_extend(array, v) < 0 ? -ENOMEM : 0;
	return json_array_append_new(array, json_incref(v)) < 0 ? -ENOMEM : 0;
}

/* At the end, because $(NAME) of a variable refers to what precedes it. */
static void keep_last_names(json_t *array)
{
	for (size_t i = json_array_size(array); i-- > 0;) {
		const char *name = name_of(json_array_get(array, i));

		for (size_t k = name ? i : 0; k-- > 0;) {
			const char *other = name_of(json_array_get(array, k));

			if (other && !strcmp(other, name)) {
				json_array_remove(array, k);
				i--;
			}
		}
	}
}

static int fill_array(struct filling *f, json_t *template, json_t **ret)
{
	json_t *array = json_array();
	int r = array ? 0 : -ENOMEM;

	for (size_t i = 0; r == 0 && i < json_array_size(template); i++) {
		json_t *v = NULL;

		r = fill(f, json_array_get(template, i), &v);
		if (r == 0 && v)
			r = append(array, v);
		json_decref(v);
	}
	keep_last_names(array);
	if (r < 0 || (json_array_size(array) == 0 && json_array_size(template) > 0)) {
		json_decref(array);
		array = NULL;
	}
	*ret = array;
	return r;
}

static int fill_members(struct filling *f, json_t *template, json_t **ret)
{
	json_t *object = json_object();
	void *at = json_object_iter(template);
	int r = object ? 0 : -ENOMEM;

	for (; r == 0 && at; at = json_object_iter_next(template, at)) {
		const char *key = json_object_iter_key(at);
		json_t *v = NULL;

		if (key[0] == '$')
			continue;
		r = fill(f, json_object_iter_value(at), &v);
		if (r == 0 && v && json_object_set(object, key, v) < 0)
			r = -ENOMEM;
		json_decref(v);
	}
	if (r < 0) {
		json_decref(object);
		object = NULL;
	}
	*ret = object;
	return r;
}

static int fill_once(struct filling *f, json_t *template, json_t **ret)
{
	json_t *condition = json_object_get(template, "$if");
	json_t *then = json_object_get(template, "$then");
	json_t *v = NULL;
	bool holds = true;

	if (condition) {
		int r = fill(f, condition, &v);

		holds = v && !json_is_false(v);
		json_decref(v);
		if (r < 0)
			return r;
	}
	if (!holds)
		return 0;
	return then ? fill(f, then, ret) : fill_members(f, template, ret);
}

/* The i-th item of what an object is repeated for. */
static json_t *item_of(json_t *of, size_t i)
{
	return json_is_array(of) ? json_incref(json_array_get(of, i)) : json_integer((json_int_t)i);
}

static int fill_each(struct filling *f, json_t *template, const char *name, json_t **ret)
{
	json_t *of = NULL, *all = json_array();
	int r = all ? fill(f, json_object_get(template, "$of"), &of) : -ENOMEM;
	size_t n = json_is_array(of) ? json_array_size(of) : (size_t)json_integer_value(of);

	for (size_t i = 0; r == 0 && i < n; i++) {
		json_t *v = NULL;

		if (json_object_set_new(f->scope->values, name, item_of(of, i)) < 0)
			r = -ENOMEM;
		if (r == 0)
			r = fill_once(f, template, &v);
		if (r == 0 && v)
			r = append(all, v);
		json_decref(v);
	}
	json_object_del(f->scope->values, name);
	json_decref(of);
	if (r < 0 || json_array_size(all) == 0) {
		json_decref(all);
		all = NULL;
	}
	*ret = all;
	return r;
}

static int fill(struct filling *f, json_t *template, json_t **ret)
{
	const char *each = json_string_value(json_object_get(template, "$each"));
	int r = 0;

	*ret = NULL;
	if (f->depth >= MAX_DEPTH)
		return -EBADMSG;
	f->depth++;
	if (json_is_string(template))
		r = fill_text(f, template, ret);
	else if (json_is_array(template))
		r = fill_array(f, template, ret);
	else if (each)
		r = fill_each(f, template, each, ret);
	else if (json_is_object(template))
		r = fill_once(f, template, ret);
	else if (template && !json_is_null(template))
		*ret = json_incref(template);
	f->depth--;
	return r;
}

/* NOLINTEND(misc-no-recursion) */

int object_template_fill(json_t **ret, json_t *template, const struct object_scope *scope)
{
	struct filling f = {.scope = scope};

	return fill(&f, template, ret);
}

/* ---- the templates ---- */

int object_yaml_load(json_t **ret, const char *text, size_t len, struct err *err)
{
	CLEANUP(buf_fini) struct buf json;
	yaml_document_t doc;
	int r;

	*ret = NULL;
	buf_init(&json, TEXT_BYTES);
	r = kube_config_yaml_load(&doc, text, len, err);
	if (r < 0)
		return r;
	r = kube_config_yaml_to_json(&doc, yaml_document_get_root_node(&doc), &json);
	yaml_document_delete(&doc);
	if (r < 0)
		return err_set(err, r, "cannot be read: %s", strerror(-r));
	*ret = json_loadb(json.data, json.len, 0, NULL);
	return *ret ? 0 : err_set(err, -EBADMSG, "is not an object");
}

json_t *object_templates(const char *name)
{
	static pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;
	static json_t *all;
	json_t *known;

	pthread_mutex_lock(&mutex);
	if (!all &&
	    object_yaml_load(&all, object_templates_yaml, strlen(object_templates_yaml), NULL) < 0)
		all = NULL;
	known = all;
	pthread_mutex_unlock(&mutex);
	return json_object_get(known, name);
}
