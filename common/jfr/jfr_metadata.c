/*
 * The metadata event is a table of strings and a tree of elements whose names, attributes and
 * values are numbers of strings: <class id="101" name="jdk.ExecutionSample"><field name="startTime"
 * class="10"/>…</class>. Annotations are skipped: units are those that the JDK and async-profiler
 * have always used for the fields read here.
 *
 * A hostile tree may nest, or types may contain themselves: depth is limited. A type without fields
 * that is no primitive would be read without consuming a byte, and an array of two billion of them
 * as well, so such types fail when they are read. All others consume at least a byte for each step,
 * so that time is bounded by the bytes there are.
 */
#include "common/jfr/jfr_metadata.h"

#include <errno.h>

#include "common/data/table.h"
#include "common/err.h"

#define DEPTH_MAX 16u

/* Strings of the table that mean something. */
enum word { WORD_OTHER, WORD_CLASS, WORD_FIELD, WORD_ID, WORD_NAME, WORD_POOL, WORD_DIMENSION };

struct string {
	const char *text;
	enum word word;
};

struct parse {
	struct jfr_metadata *m;
	struct jfr_reader *r;
	struct string *strings;
	uint32_t n_strings;
	uint32_t types_max, fields_max;
};

static enum word word_of(const char *text)
{
	static const char *const words[] = {
		[WORD_CLASS] = "class",
		[WORD_FIELD] = "field",
		[WORD_ID] = "id",
		[WORD_NAME] = "name",
		[WORD_POOL] = "constantPool",
		[WORD_DIMENSION] = "dimension",
	};

	for (size_t i = WORD_OTHER + 1; i < ARRAY_SIZE(words); i++) {
		if (strcmp(words[i], text) == 0)
			return (enum word)i;
	}
	return WORD_OTHER;
}

static enum jfr_form form_of(const char *name)
{
	static const struct {
		const char *name;
		enum jfr_form form;
	} forms[] = {
		{"boolean", JFR_FORM_BYTE},
		{"byte", JFR_FORM_BYTE},
		{"char", JFR_FORM_CHAR},
		{"short", JFR_FORM_CHAR},
		{"int", JFR_FORM_INT},
		{"long", JFR_FORM_LONG},
		{"float", JFR_FORM_FLOAT},
		{"double", JFR_FORM_DOUBLE},
		{"java.lang.String", JFR_FORM_TEXT},
	};

	for (size_t i = 0; i < ARRAY_SIZE(forms); i++) {
		if (strcmp(forms[i].name, name) == 0)
			return forms[i].form;
	}
	return JFR_FORM_STRUCT;
}

static int read_strings(struct parse *p, struct arena *a)
{
	struct jfr_text text;

	p->n_strings = jfr_reader_count(p->r);
	if (p->r->error != 0 || p->n_strings > JFR_METADATA_STRINGS_MAX ||
	    p->n_strings > p->r->limit - jfr_reader_tell(p->r))
		return -EBADMSG;
	p->strings = arena_alloc(a, p->n_strings * sizeof(*p->strings) + 1);
	if (!p->strings)
		return arena_error(a, p->n_strings * sizeof(*p->strings) + 1);
	for (uint32_t i = 0; i < p->n_strings && p->r->error == 0; i++) {
		jfr_reader_text(p->r, &text);
		if (text.kind != JFR_TEXT_INLINE)
			text.len = 0;
		p->strings[i].text = arena_strndup(a, text.text, text.len);
		if (!p->strings[i].text)
			return arena_error(a, text.len + 1);
		p->strings[i].word = word_of(p->strings[i].text);
	}
	return p->r->error;
}

static const struct string *read_string(struct parse *p)
{
	static const struct string none = {"", WORD_OTHER};
	uint32_t i = jfr_reader_count(p->r);

	if (i < p->n_strings && p->r->error == 0)
		return &p->strings[i];
	jfr_reader_fail(p->r, -EBADMSG);
	return &none;
}

/* What an element's attributes say, of those that matter. */
struct attributes {
	const char *name;
	uint64_t id;
	uint64_t class_id;
	bool is_constant;
	bool is_array;
};

static void read_attributes(struct parse *p, struct attributes *ret)
{
	uint32_t n = jfr_reader_count(p->r);

	*ret = (struct attributes){.name = ""};
	for (uint32_t i = 0; i < n && p->r->error == 0; i++) {
		const struct string *key = read_string(p);
		const char *value = read_string(p)->text;

		switch (key->word) {
		case WORD_NAME:
			ret->name = value;
			break;
		case WORD_ID:
			ret->id = strtoull(value, NULL, 10);
			break;
		case WORD_CLASS:
			ret->class_id = strtoull(value, NULL, 10);
			break;
		case WORD_POOL:
			ret->is_constant = strcmp(value, "false") != 0;
			break;
		case WORD_DIMENSION:
			ret->is_array = strcmp(value, "0") != 0;
			break;
		default:
			break;
		}
	}
}

static struct jfr_type *add_type(struct parse *p, const struct attributes *at)
{
	struct jfr_metadata *m = p->m;
	struct jfr_type *t;

	if (jfr_metadata_find(m, at->id) || m->n_types == p->types_max ||
	    number_index_add(&m->by_id, number_hash(at->id), m->n_types) < 0) {
		jfr_reader_fail(p->r, -EBADMSG);
		return NULL;
	}
	t = &m->types[m->n_types++];
	*t = (struct jfr_type){
		.id = at->id,
		.name = at->name,
		.first_field = m->n_fields,
		.form = form_of(at->name),
	};
	return t;
}

static void add_field(struct parse *p, struct jfr_type *of, const struct attributes *at)
{
	struct jfr_metadata *m = p->m;

	if (m->n_fields == p->fields_max || of->first_field + of->n_fields != m->n_fields) {
		jfr_reader_fail(p->r, -EBADMSG);
		return;
	}
	m->fields[m->n_fields++] = (struct jfr_field){
		.name = at->name,
		.type_id = at->class_id,
		.type = JFR_NO_TYPE,
		.is_constant = at->is_constant,
		.is_array = at->is_array,
	};
	of->n_fields++;
}

/* in: the class that the element is directly inside, or NULL. */
static void read_element(struct parse *p, struct jfr_type *in, unsigned depth)
{
	const struct string *name = read_string(p);
	struct jfr_type *type = NULL;
	struct attributes at;
	uint32_t n;

	read_attributes(p, &at);
	if (p->r->error != 0)
		return;
	if (name->word == WORD_CLASS)
		type = add_type(p, &at);
	else if (name->word == WORD_FIELD && in)
		add_field(p, in, &at);
	n = jfr_reader_count(p->r);
	if (n > 0 && depth == DEPTH_MAX)
		jfr_reader_fail(p->r, -EBADMSG);
	for (uint32_t i = 0; i < n && p->r->error == 0; i++)
		read_element(p, type, depth + 1);
}

static bool is_integer(enum jfr_form form)
{
	return form == JFR_FORM_CHAR || form == JFR_FORM_INT || form == JFR_FORM_LONG;
}

static void find_structs_of_integers(struct jfr_metadata *m)
{
	for (uint32_t i = 0; i < m->n_types; i++) {
		struct jfr_type *t = &m->types[i];

		t->is_integers = t->form == JFR_FORM_STRUCT && t->n_fields > 0;
		for (uint32_t k = 0; k < t->n_fields && t->is_integers; k++) {
			const struct jfr_field *f = &m->fields[t->first_field + k];

			t->is_integers = !f->is_array && f->type != JFR_NO_TYPE &&
					 (f->is_constant || is_integer(m->types[f->type].form));
		}
	}
}

static void resolve_fields(struct jfr_metadata *m)
{
	for (uint32_t i = 0; i < m->n_fields; i++) {
		const struct jfr_type *t = jfr_metadata_find(m, m->fields[i].type_id);

		if (t)
			m->fields[i].type = (uint32_t)(t - m->types);
	}
}

static int read_event(struct parse *p, struct arena *a)
{
	uint64_t at = jfr_reader_tell(p->r), limit = p->r->limit;
	uint32_t size = jfr_reader_count(p->r);
	int r;

	if (p->r->error != 0 || size > limit - at)
		return -EBADMSG;
	jfr_reader_seek(p->r, jfr_reader_tell(p->r), at + size);
	if (jfr_reader_long(p->r) != 0)
		return -EBADMSG;
	for (size_t i = 0; i < 3; i++)
		(void)jfr_reader_long(p->r); /* start, duration, metadata id */
	r = read_strings(p, a);
	if (r < 0)
		return r;
	/* an element takes at least three bytes */
	p->types_max = size / 3 < JFR_TYPES_MAX ? size / 3 : JFR_TYPES_MAX;
	p->fields_max = size / 3 < JFR_FIELDS_MAX ? size / 3 : JFR_FIELDS_MAX;
	p->m->types = arena_alloc(a, p->types_max * sizeof(*p->m->types) + 1);
	p->m->fields = arena_alloc(a, p->fields_max * sizeof(*p->m->fields) + 1);
	if (!p->m->types || !p->m->fields)
		return arena_error(a, p->fields_max * sizeof(*p->m->fields) + 1);
	r = number_index_reserve(&p->m->by_id, p->types_max);
	if (r < 0)
		return r;
	read_element(p, NULL, 0);
	resolve_fields(p->m);
	find_structs_of_integers(p->m);
	return p->r->error;
}

int jfr_metadata_read(struct jfr_metadata *ret, struct jfr_reader *r, struct arena *a,
		      struct err *err)
{
	struct parse p = {.m = ret, .r = r};
	int e;

	*ret = (struct jfr_metadata){.by_id = {.arena = a}};
	e = read_event(&p, a);
	if (e == -ENOMEM)
		return e;
	if (e < 0)
		return err_set(err, e == -EFBIG ? -EBADMSG : e, "its metadata is %s",
			       e == -EFBIG ? "too large" : "broken");
	return 0;
}

const struct jfr_type *jfr_metadata_find(const struct jfr_metadata *m, uint64_t id)
{
	uint32_t i;

	return number_index_find(&m->by_id, id, m->types, sizeof(*m->types), &i) ? &m->types[i]
										 : NULL;
}

const struct jfr_type *jfr_metadata_find_name(const struct jfr_metadata *m, const char *name)
{
	for (uint32_t i = 0; i < m->n_types; i++) {
		if (strcmp(m->types[i].name, name) == 0)
			return &m->types[i];
	}
	return NULL;
}

/* A value that is no struct; text may be NULL. */
static inline uint64_t read_simple(struct jfr_reader *r, enum jfr_form form, struct jfr_text *text)
{
	switch (form) {
	case JFR_FORM_BYTE:
		return jfr_reader_raw(r, 1);
	case JFR_FORM_CHAR:
		return jfr_reader_integer(r, 2);
	case JFR_FORM_INT:
		return jfr_reader_integer(r, 4);
	case JFR_FORM_LONG:
		return jfr_reader_integer(r, 8);
	case JFR_FORM_FLOAT:
		return jfr_reader_raw(r, 4);
	case JFR_FORM_DOUBLE:
		return jfr_reader_raw(r, 8);
	default:
		jfr_reader_text(r, text);
		return 0;
	}
}

static void skip_type(const struct jfr_metadata *m, struct jfr_reader *r,
		      const struct jfr_type *type, unsigned depth);

static void skip_field(const struct jfr_metadata *m, struct jfr_reader *r,
		       const struct jfr_field *f, unsigned depth)
{
	uint32_t n = f->is_array ? jfr_reader_count(r) : 1;

	if (f->type == JFR_NO_TYPE) {
		jfr_reader_fail(r, -EBADMSG);
		return;
	}
	if (r->compressed && (f->is_constant || m->types[f->type].is_integers)) {
		jfr_reader_skip_varints(
			r, (uint64_t)n * (f->is_constant ? 1 : m->types[f->type].n_fields));
		return;
	}
	for (uint32_t i = 0; i < n && r->error == 0; i++) {
		if (f->is_constant)
			(void)jfr_reader_long(r);
		else
			skip_type(m, r, &m->types[f->type], depth);
	}
}

static void skip_type(const struct jfr_metadata *m, struct jfr_reader *r,
		      const struct jfr_type *type, unsigned depth)
{
	if (type->form != JFR_FORM_STRUCT) {
		(void)read_simple(r, type->form, NULL);
		return;
	}
	if (depth == DEPTH_MAX || type->n_fields == 0) {
		jfr_reader_fail(r, -EBADMSG);
		return;
	}
	for (uint32_t i = 0; i < type->n_fields && r->error == 0; i++)
		skip_field(m, r, &m->fields[type->first_field + i], depth + 1);
}

void jfr_metadata_skip(const struct jfr_metadata *m, struct jfr_reader *r,
		       const struct jfr_type *type)
{
	skip_type(m, r, type, 0);
}

static uint8_t slot_of(const char *field, const struct jfr_wanted *wanted)
{
	for (size_t i = 0; i < ARRAY_SIZE(wanted->names); i++) {
		if (wanted->names[i] && strcmp(wanted->names[i], field) == 0)
			return (uint8_t)i;
	}
	return JFR_PLAN_NO_SLOT;
}

bool jfr_plan_make(struct jfr_plan *ret, const struct jfr_metadata *m, const struct jfr_type *type,
		   const struct jfr_wanted *wanted)
{
	uint32_t n_found = 0;
	size_t n_used = 0;

	*ret = (struct jfr_plan){.metadata = m};
	for (uint32_t i = 0; type && i < type->n_fields; i++) {
		const struct jfr_field *f = &m->fields[type->first_field + i];
		uint8_t slot = slot_of(f->name, wanted);
		enum jfr_form form;

		if (f->type == JFR_NO_TYPE || i == JFR_PLAN_OPS_MAX) {
			if (!wanted->prefix)
				return false;
			break;
		}
		form = f->is_constant ? JFR_FORM_LONG : m->types[f->type].form;
		ret->ops[i].form = (uint8_t)form;
		ret->ops[i].slot = slot;
		ret->ops[i].is_array = f->is_array;
		ret->ops[i].type = f->type;
		if (slot != JFR_PLAN_NO_SLOT || !wanted->prefix)
			n_used = i + 1;
		if (slot < wanted->n_required && form != JFR_FORM_STRUCT && !f->is_array)
			n_found++;
	}
	if (n_found != wanted->n_required)
		return false;
	ret->n = n_used;
	ret->is_integers = true;
	for (size_t i = 0; i < n_used; i++)
		ret->is_integers = ret->is_integers && !ret->ops[i].is_array &&
				   is_integer((enum jfr_form)ret->ops[i].form);
	return n_used > 0;
}

void jfr_plan_skip(const struct jfr_plan *plan, struct jfr_reader *r, size_t i)
{
	const struct jfr_metadata *m = plan->metadata;
	uint32_t n = plan->ops[i].is_array ? jfr_reader_count(r) : 1;

	for (uint32_t k = 0; k < n && r->error == 0; k++) {
		if (plan->ops[i].form == JFR_FORM_STRUCT)
			skip_type(m, r, &m->types[plan->ops[i].type], 1);
		else
			(void)read_simple(r, (enum jfr_form)plan->ops[i].form, NULL);
	}
}

void jfr_plan_read_any(const struct jfr_plan *plan, struct jfr_reader *r,
		       uint64_t slots[JFR_PLAN_SLOTS_MAX + 1], struct jfr_text *texts)
{
	for (size_t i = 0; i < plan->n; i++) {
		enum jfr_form form = (enum jfr_form)plan->ops[i].form;
		uint8_t slot = plan->ops[i].slot;

		if (form == JFR_FORM_STRUCT || plan->ops[i].is_array)
			jfr_plan_skip(plan, r, i);
		else if (slot == JFR_PLAN_NO_SLOT)
			(void)read_simple(r, form, NULL);
		else
			slots[slot] = read_simple(r, form, texts ? &texts[slot] : NULL);
	}
}
