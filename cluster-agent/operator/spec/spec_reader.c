/*
 * The API server has checked a resource against the CustomResourceDefinition, but perhaps against
 * another one: Coroot's, ours of another version, or none of these fields at all. So every value is
 * checked again here, and what is wrong is reported and left out, never passed on.
 *
 * What Kubernetes checks itself (affinity, tolerations) is passed on. Lists and maps of which items
 * are wrong are copied without those; the copies are in the spec's "made".
 */
#include "cluster-agent/operator/spec/spec_reader.h"

#include <errno.h>
#include <math.h>
#include <stdarg.h>

#include "cluster-agent/operator/spec/agent_variables.h"
#include "common/text/near_name.h"

#define ENV_MAX 512 /* variables of one component */

static int read_object(struct spec_reader *r, const char *parent, json_t *object);

/* ---- paths and problems ---- */

/* Appends to the path; returns the length before, for path_cut(). */
static size_t path_add(struct spec_reader *r, const char *separator, const char *name)
{
	size_t len = strlen(r->path);

	snprintf(r->path + len, sizeof(r->path) - len, "%s%s", separator, name);
	return len;
}

static size_t path_add_index(struct spec_reader *r, size_t i)
{
	char index[32];

	snprintf(index, sizeof(index), "[%zu]", i);
	return path_add(r, "", index);
}

static void path_cut(struct spec_reader *r, size_t len)
{
	r->path[len] = '\0';
}

/* "must be <what>; <what happens instead>" */
static int report(struct spec_reader *r, const struct coroot_field *f, const char *what)
{
	if (f && f->def)
		return spec_problems_wrong(r->problems, r->path,
					   "must be %s; the default, %s, is used", what, f->def);
	return spec_problems_wrong(r->problems, r->path, "must be %s; it is ignored", what);
}

static int report_choices(struct spec_reader *r, const struct coroot_field *f)
{
	char what[160] = "one of ";

	for (size_t i = 0; f->choices[i]; i++) {
		size_t len = strlen(what);

		snprintf(what + len, sizeof(what) - len, "%s%s", i > 0 ? ", " : "", f->choices[i]);
	}
	return report(r, f, what);
}

static int report_unknown(struct spec_reader *r, const char *parent, const char *name)
{
	const struct coroot_field *like = NULL;

	/* beyond that only their number counts, and comparing names takes time */
	if (r->problems->wrong.n < SPEC_PROBLEMS_MAX)
		like = coroot_field_like(parent, name);
	if (like)
		return spec_problems_wrong(r->problems, r->path,
					   "unknown field; did you mean \"%s\"?",
					   coroot_field_name(like));
	return spec_problems_wrong(r->problems, r->path, "unknown field; it is ignored");
}

/* ---- single values ---- */

const char *spec_text(const json_t *value)
{
	const char *s = json_string_value(value);

	return s && *s && strlen(s) == json_string_length(value) ? s : NULL;
}

bool spec_given(const json_t *value)
{
	if (json_is_string(value))
		return json_string_length(value) > 0;
	if (json_is_array(value))
		return json_array_size(value) > 0;
	if (json_is_object(value))
		return json_object_size(value) > 0;
	return value && !json_is_null(value);
}

const char *spec_secret_key(const json_t *value, struct coroot_secret_key *ret)
{
	const char *name = spec_text(json_object_get(value, "name"));
	const char *key = spec_text(json_object_get(value, "key"));

	if (!json_is_object(value))
		return coroot_field_type_text(FIELD_SECRET_KEY);
	if (!name || !text_dns_name.fits(name))
		return "an object with the \"name\" of a Secret";
	if (!key || !text_secret_key.fits(key))
		return "an object with the \"key\" in the Secret";
	*ret = (struct coroot_secret_key){.name = name, .key = key};
	return NULL;
}

const json_t *spec_keep(struct coroot_spec *s, json_t *value)
{
	if (!value)
		return NULL;
	if (!s->made)
		s->made = json_array();
	if (!s->made || json_array_append_new(s->made, value) < 0) {
		if (!s->made)
			json_decref(value);
		return NULL;
	}
	return value;
}

static void *member(struct spec_reader *r, const struct coroot_field *f)
{
	return f->offset > 0 ? (char *)r->spec + f->offset : NULL;
}

static void store_text(struct spec_reader *r, const struct coroot_field *f, const char *text)
{
	void *at = member(r, f);

	if (at && f->flag)
		*(bool *)at = !*f->flag || strcmp(text, f->flag) == 0;
	else if (at)
		*(const char **)at = text;
}

static void store_json(struct spec_reader *r, const struct coroot_field *f, const json_t *value)
{
	void *at = member(r, f);

	if (at)
		*(const json_t **)at = value;
}

/* Whether it is "" where that means something. */
static bool is_empty_text(const struct coroot_field *f, const json_t *value)
{
	return f->empty && json_is_string(value) && json_string_length(value) == 0;
}

static int read_string(struct spec_reader *r, const struct coroot_field *f, json_t *value)
{
	const char *text = spec_text(value);

	if (is_empty_text(f, value)) {
		store_text(r, f, "");
		return 0;
	}
	if (!text)
		return report(r, f, f->rule ? f->rule->what : coroot_field_type_text(f->type));
	if (f->rule && !f->rule->fits(text))
		return report(r, f, f->rule->what);
	for (size_t i = 0; f->choices && strcmp(text, f->choices[i]) != 0; i++) {
		if (!f->choices[i + 1])
			return report_choices(r, f);
	}
	store_text(r, f, text);
	return 0;
}

static int read_integer(struct spec_reader *r, const struct coroot_field *f, json_t *value)
{
	double v = json_number_value(value);
	char what[80];

	if (json_is_number(value) && v == 0)
		return 0; /* as in Coroot: not given */
	if (json_is_number(value) && v == floor(v) && v >= (double)f->min && v <= (double)f->max) {
		int64_t *at = member(r, f);

		if (at)
			*at = (int64_t)v;
		return 0;
	}
	snprintf(what, sizeof(what), "a whole number from %lld to %lld", (long long)f->min,
		 (long long)f->max);
	return report(r, f, what);
}

static int read_boolean(struct spec_reader *r, const struct coroot_field *f, json_t *value)
{
	bool *at = member(r, f);

	if (!json_is_boolean(value))
		return report(r, f, coroot_field_type_text(f->type));
	if (at)
		*at = json_is_true(value);
	return 0;
}

/* A quantity as text: YAML makes numbers of some. *ret is NULL if the value is none. */
static int quantity_text(struct coroot_spec *s, json_t *value, const char **ret)
{
	const char *text = spec_text(value);
	double v;

	*ret = NULL;
	if (json_is_number(value)) {
		text = json_string_value(
			spec_keep(s, json_sprintf("%.15g", json_number_value(value))));
		if (!text)
			return -ENOMEM;
	}
	if (text && spec_quantity(text, &v) == 0)
		*ret = text;
	return 0;
}

static int read_quantity(struct spec_reader *r, const struct coroot_field *f, json_t *value)
{
	const char *text;
	double v;
	int e = quantity_text(r->spec, value, &text);

	if (e < 0)
		return e;
	if (!text || spec_quantity(text, &v) < 0 || v < 1)
		return report(r, f, coroot_field_type_text(f->type));
	store_text(r, f, text);
	return 0;
}

static int read_secret_key(struct spec_reader *r, const struct coroot_field *f, json_t *value)
{
	struct coroot_secret_key key;
	const char *wrong = spec_secret_key(value, &key);
	struct coroot_secret_key *at = member(r, f);

	if (wrong)
		return report(r, f, wrong);
	if (at)
		*at = key;
	if (json_is_true(json_object_get(value, "optional"))) {
		size_t len = path_add(r, ".", "optional");
		int e = spec_problems_unused(r->problems, r->path, NULL);

		path_cut(r, len);
		return e;
	}
	return 0;
}

/* ---- lists and maps ---- */

/* Adds an item to a copy, which shares it with the resource. */
static int copy_item(json_t *to, json_t *item)
{
	return json_array_append(to, item) < 0 ? -ENOMEM : 0;
}

static int copy_member(json_t *to, const char *key, json_t *value)
{
	return json_object_set(to, key, value) < 0 ? -ENOMEM : 0;
}

/* Stores the value, or its copy without what is wrong; takes the copy over. */
static int store_copy(struct spec_reader *r, const struct coroot_field *f, json_t *value,
		      json_t *copy)
{
	const json_t *kept;

	if (json_equal(value, copy)) {
		json_decref(copy);
		store_json(r, f, value);
		return 0;
	}
	kept = spec_keep(r->spec, copy);
	if (!kept)
		return -ENOMEM;
	store_json(r, f, spec_given(kept) ? kept : NULL);
	return 0;
}

/* What is wrong with an item of a list, as the end of "must be …", or NULL. */
typedef const char *check_item(json_t *item);

static const char *check_object(json_t *item)
{
	return json_is_object(item) ? NULL : "an object";
}

static const char *check_string(json_t *item)
{
	return spec_text(item) ? NULL : "a string";
}

static const char *check_pull_secret(json_t *item)
{
	const char *name = spec_text(json_object_get(item, "name"));

	return name && text_dns_name.fits(name) ? NULL : "an object with the \"name\" of a Secret";
}

static const char *check_variable(json_t *item)
{
	const char *name = spec_text(json_object_get(item, "name")), *key;
	json_t *value = json_object_get(item, "value"), *member;
	json_t *from = json_object_get(item, "valueFrom");

	if (!name)
		return "an object with a \"name\"";
	if (!text_env_name.fits(name))
		return "an object with a \"name\" of letters, digits, '-', '_' and '.' that does "
		       "not begin with a digit";
	if (value && !json_is_string(value))
		return "an object with a \"value\" that is a string: write it in quotes";
	if (value && strlen(json_string_value(value)) != json_string_length(value))
		return "an object with a \"value\" without NUL characters";
	if (from && !json_is_object(from))
		return "an object with a \"valueFrom\" that is an object";
	if (from && value && json_string_length(value) > 0)
		return "an object with either \"value\" or \"valueFrom\"";
	json_object_foreach (item, key, member) {
		if (strcmp(key, "name") != 0 && member != value && member != from)
			return "an object with \"name\" and \"value\" or \"valueFrom\" only";
	}
	return NULL;
}

/* Whether a later variable that is right has the same name. */
static bool is_replaced(json_t *list, size_t i)
{
	const char *name = spec_text(json_object_get(json_array_get(list, i), "name"));

	for (size_t j = i + 1; name && j < json_array_size(list) && j < ENV_MAX; j++) {
		json_t *other = json_array_get(list, j);
		const char *n = spec_text(json_object_get(other, "name"));

		if (n && strcmp(n, name) == 0 && !check_variable(other))
			return true;
	}
	return false;
}

/* A variable is passed on whatever its name is, as the agent may be another one than ours. */
static int check_effect(struct spec_reader *r, const struct coroot_field *f, json_t *list, size_t i)
{
	const char *name = spec_text(json_object_get(json_array_get(list, i), "name"));
	char why[2 * NEAR_NAME_BYTES + 80];
	const char *meant;

	if (agent_variables_have(f->variables, name, list, &meant))
		return 0;
	snprintf(why, sizeof(why), "%.*s is no option of the %s%s%s%s", (int)NEAR_NAME_BYTES, name,
		 f->variables->agent, meant ? "; did you mean " : "", meant ? meant : "",
		 meant ? "?" : "");
	return spec_problems_unused(r->problems, r->path, why);
}

/* Reports what is wrong with an item; *ret_right is whether nothing is. */
static int read_item(struct spec_reader *r, const struct coroot_field *f, json_t *list, size_t i,
		     bool *ret_right)
{
	static check_item *const checks[FIELD_TYPE_MAX] = {
		[FIELD_ANY_LIST] = check_object,
		[FIELD_STRINGS] = check_string,
		[FIELD_ENV] = check_variable,
		[FIELD_PULL_SECRETS] = check_pull_secret,
	};
	const char *wrong = checks[f->type](json_array_get(list, i));

	*ret_right = false;
	if (wrong)
		return report(r, NULL, wrong);
	if (f->type == FIELD_ENV && i >= ENV_MAX)
		return spec_problems_wrong(r->problems, r->path,
					   "is beyond the %d variables that are taken; it is "
					   "ignored",
					   ENV_MAX);
	if (f->type == FIELD_ENV && is_replaced(list, i))
		return spec_problems_wrong(r->problems, r->path,
					   "has the name of a later variable, which is used");
	*ret_right = true;
	return f->type == FIELD_ENV ? check_effect(r, f, list, i) : 0;
}

static int read_list(struct spec_reader *r, const struct coroot_field *f, json_t *value)
{
	CLEANUP(json_decrefp) json_t *copy = json_array();

	if (!copy)
		return -ENOMEM;
	if (!json_is_array(value))
		return report(r, f, coroot_field_type_text(f->type));
	for (size_t i = 0; i < json_array_size(value); i++) {
		size_t len = path_add_index(r, i);
		bool right;
		int e = read_item(r, f, value, i, &right);

		path_cut(r, len);
		if (e == 0 && right)
			e = copy_item(copy, json_array_get(value, i));
		if (e < 0)
			return e;
	}
	return store_copy(r, f, value, TAKE_PTR(copy));
}

static int read_map(struct spec_reader *r, const struct coroot_field *f, json_t *value)
{
	CLEANUP(json_decrefp) json_t *copy = json_object();
	json_t *text;
	const char *key;

	if (!copy)
		return -ENOMEM;
	if (!json_is_object(value))
		return report(r, f, coroot_field_type_text(f->type));
	json_object_foreach (value, key, text) {
		size_t len = path_add(r, ".", key);
		int e;

		if (json_is_string(text) &&
		    strlen(json_string_value(text)) == json_string_length(text))
			e = copy_member(copy, key, text);
		else
			e = report(r, NULL, "a string: write it in quotes");
		path_cut(r, len);
		if (e < 0)
			return e;
	}
	return store_copy(r, f, value, TAKE_PTR(copy));
}

/* Copies the quantities of "requests" or "limits", an object, to a member of copy. */
static int copy_quantities(struct spec_reader *r, const char *name, json_t *from, json_t *copy)
{
	CLEANUP(json_decrefp) json_t *part = json_object();
	json_t *value;
	const char *key;

	if (!part)
		return -ENOMEM;
	if (!json_is_object(from))
		return report(r, NULL, "an object of quantities");
	json_object_foreach (from, key, value) {
		size_t len = path_add(r, ".", key);
		const char *text;
		int e = quantity_text(r->spec, value, &text);

		if (e == 0)
			e = text ? copy_member(part, key, value)
				 : report(r, NULL, "a quantity such as \"500m\" or \"1Gi\"");
		path_cut(r, len);
		if (e < 0)
			return e;
	}
	/* an empty object asks for none at all, in place of defaults */
	return spec_given(part) || !spec_given(from) ? copy_member(copy, name, part) : 0;
}

static int read_resources(struct spec_reader *r, const struct coroot_field *f, json_t *value)
{
	CLEANUP(json_decrefp) json_t *copy = json_object();
	json_t *part;
	const char *key;

	if (!copy)
		return -ENOMEM;
	if (!json_is_object(value))
		return report(r, f, coroot_field_type_text(f->type));
	json_object_foreach (value, key, part) {
		bool known = strcmp(key, "requests") == 0 || strcmp(key, "limits") == 0;
		size_t len = path_add(r, ".", key);
		int e = 0;

		if (strcmp(key, "claims") == 0)
			e = copy_member(copy, key, part);
		else if (!known)
			e = spec_problems_wrong(r->problems, r->path,
						"unknown field; it is ignored");
		else if (!json_is_null(part))
			e = copy_quantities(r, key, part, copy);
		path_cut(r, len);
		if (e < 0)
			return e;
	}
	return store_copy(r, f, value, TAKE_PTR(copy));
}

static int read_any(struct spec_reader *r, const struct coroot_field *f, json_t *value)
{
	if (!json_is_object(value))
		return report(r, f, coroot_field_type_text(f->type));
	store_json(r, f, value);
	return 0;
}

/* ---- objects of the table ---- */

static int read_member_object(struct spec_reader *r, const struct coroot_field *f, json_t *value)
{
	bool *at = member(r, f);

	if (!json_is_object(value))
		return report(r, f, coroot_field_type_text(f->type));
	if (at)
		*at = true;
	return read_object(r, f->path, value);
}

static int read_objects(struct spec_reader *r, const struct coroot_field *f, json_t *value)
{
	char parent[SPEC_PATH_BYTES];

	if (!json_is_array(value))
		return report(r, f, coroot_field_type_text(f->type));
	snprintf(parent, sizeof(parent), "%s[]", f->path);
	for (size_t i = 0; i < json_array_size(value); i++) {
		json_t *item = json_array_get(value, i);
		size_t len = path_add_index(r, i);
		int e = json_is_object(item) ? read_object(r, parent, item)
					     : report(r, NULL, "an object");

		path_cut(r, len);
		if (e < 0)
			return e;
	}
	return 0;
}

static int read_field(struct spec_reader *r, const struct coroot_field *f, json_t *value)
{
	typedef int read_value(struct spec_reader *, const struct coroot_field *, json_t *);
	static read_value *const readers[FIELD_TYPE_MAX] = {
		[FIELD_OBJECT] = read_member_object,
		[FIELD_OBJECTS] = read_objects,
		[FIELD_ANY] = read_any,
		[FIELD_ANY_LIST] = read_list,
		[FIELD_STRING] = read_string,
		[FIELD_STRINGS] = read_list,
		[FIELD_MAP] = read_map,
		[FIELD_INTEGER] = read_integer,
		[FIELD_BOOLEAN] = read_boolean,
		[FIELD_QUANTITY] = read_quantity,
		[FIELD_SECRET_KEY] = read_secret_key,
		[FIELD_ENV] = read_list,
		[FIELD_RESOURCES] = read_resources,
		[FIELD_PULL_SECRETS] = read_list,
	};

	/* an object that is there counts even if it is empty */
	if (!spec_given(value) && !is_empty_text(f, value) &&
	    !(f->type == FIELD_OBJECT && json_is_object(value)))
		return 0;
	if (f->unused)
		return spec_problems_unused(r->problems, r->path, NULL);
	return readers[f->type](r, f, value);
}

static int read_object(struct spec_reader *r, const char *parent, json_t *object)
{
	json_t *value;
	const char *key;

	json_object_foreach (object, key, value) {
		const struct coroot_field *f = coroot_field_find(parent, key);
		size_t len = path_add(r, ".", key);
		int e = f ? read_field(r, f, value) : report_unknown(r, parent, key);

		path_cut(r, len);
		if (e < 0)
			return e;
	}
	return 0;
}

int spec_reader_read(struct spec_reader *r, json_t *value)
{
	snprintf(r->path, sizeof(r->path), "spec");
	if (!value || json_is_null(value))
		return 0;
	if (!json_is_object(value))
		return report(r, NULL, "an object");
	return read_object(r, "spec", value);
}

void spec_reader_defaults(struct coroot_spec *s)
{
	for (size_t i = 0; i < n_coroot_fields; i++) {
		const struct coroot_field *f = &coroot_fields[i];
		void *at = (char *)s + f->offset;

		if (f->offset == 0 || !f->def || f->flag)
			continue;
		if (f->type == FIELD_INTEGER)
			*(int64_t *)at = strtoll(f->def, NULL, 10);
		else if (f->type == FIELD_BOOLEAN)
			*(bool *)at = strcmp(f->def, "true") == 0;
		else
			*(const char **)at = f->def;
	}
}
