#include "common/jfr/jfr_names.h"

#include <errno.h>

#include "common/jfr/java_names.h"

enum { METHOD_CLASS, METHOD_NAME };
static const struct jfr_wanted method_fields = {{"type", "name"}, 2, false};
static const struct jfr_wanted class_fields = {{"name"}, 1, false};
static const struct jfr_wanted symbol_fields = {{"string"}, 1, false};

static uint32_t at_most(uint64_t n_bytes, uint32_t max)
{
	/* key and value of a constant */
	return n_bytes / 2 < max ? (uint32_t)(n_bytes / 2) : max;
}

int jfr_names_init(struct jfr_names *n, const struct jfr_constants *c, struct arena *a,
		   uint64_t n_bytes)
{
	const struct jfr_metadata *m = c->metadata;
	int r;

	*n = (struct jfr_names){
		.constants = c,
		.arena = a,
		.methods_max = at_most(n_bytes, JFR_METHODS_MAX),
		.classes_max = at_most(n_bytes, JFR_CLASSES_MAX),
		.symbols_max = at_most(n_bytes, JFR_SYMBOLS_MAX),
		.method_ids = {.arena = a},
		.class_ids = {.arena = a},
		.symbol_ids = {.arena = a},
		.string_ids = {.arena = a},
	};
	(void)jfr_plan_make(&n->method_plan, m, c->types[JFR_POOL_METHOD], &method_fields);
	(void)jfr_plan_make(&n->class_plan, m, c->types[JFR_POOL_CLASS], &class_fields);
	(void)jfr_plan_make(&n->symbol_plan, m, c->types[JFR_POOL_SYMBOL], &symbol_fields);
	n->methods = arena_alloc(a, n->methods_max * sizeof(*n->methods) + 1);
	n->classes = arena_alloc(a, n->classes_max * sizeof(*n->classes) + 1);
	n->symbols = arena_alloc(a, n->symbols_max * sizeof(*n->symbols) + 1);
	n->cache = arena_calloc(a, JFR_METHOD_CACHE, sizeof(*n->cache));
	if (!n->methods || !n->classes || !n->symbols || !n->cache)
		return -ENOMEM;
	r = number_index_reserve(&n->method_ids, n->methods_max);
	if (r == 0)
		r = number_index_reserve(&n->class_ids, n->classes_max);
	if (r == 0)
		r = number_index_reserve(&n->symbol_ids, n->symbols_max);
	return r;
}

/*
 * Returns the number of the element with this id. It is n if the element is new, which the caller
 * then adds; JFR_NONE if there is no room for it.
 */
static uint32_t want(struct number_index *x, uint64_t id, const void *elements, size_t size,
		     uint32_t n, uint32_t max)
{
	uint32_t i;

	if (number_index_find(x, id, elements, size, &i))
		return i;
	return n < max && number_index_add(x, number_hash(id), n) == 0 ? n : JFR_NONE;
}

/* Many ids of the JDK differ in their higher bits only. */
static struct jfr_method_cache *cached(const struct jfr_names *n, uint64_t id)
{
	return &n->cache[(id ^ id >> 16) % JFR_METHOD_CACHE];
}

struct jfr_method *jfr_names_want_method(struct jfr_names *n, uint64_t id)
{
	struct jfr_method_cache *c = cached(n, id);
	uint32_t i;

	if (c->id == id && c->method != 0)
		return &n->methods[c->method - 1];
	i = want(&n->method_ids, id, n->methods, sizeof(*n->methods), n->n_methods, n->methods_max);
	if (i == JFR_NONE) {
		n->is_full = true;
		return NULL;
	}
	if (i == n->n_methods)
		n->methods[n->n_methods++] =
			(struct jfr_method){.id = id, .class = JFR_NONE, .name = JFR_NONE};
	*c = (struct jfr_method_cache){id, i + 1};
	return &n->methods[i];
}

struct jfr_class *jfr_names_want_class(struct jfr_names *n, uint64_t id)
{
	uint32_t i = want(&n->class_ids, id, n->classes, sizeof(*n->classes), n->n_classes,
			  n->classes_max);

	if (i == JFR_NONE) {
		n->is_full = true;
		return NULL;
	}
	if (i == n->n_classes)
		n->classes[n->n_classes++] = (struct jfr_class){.id = id, .symbol = JFR_NONE};
	return &n->classes[i];
}

/* Returns its number, or JFR_NONE. */
static uint32_t want_symbol(struct jfr_names *n, uint64_t id)
{
	uint32_t i = want(&n->symbol_ids, id, n->symbols, sizeof(*n->symbols), n->n_symbols,
			  n->symbols_max);

	n->is_full |= i == JFR_NONE;
	if (i == n->n_symbols)
		n->symbols[n->n_symbols++] = (struct jfr_symbol){.id = id, .string = JFR_NONE};
	return i;
}

/* Strings are referred to by symbols only, so there are not more of them. */
static bool make_strings(struct jfr_names *n)
{
	size_t size = n->n_symbols * sizeof(*n->strings) + 1;
	struct jfr_symbol *strings = arena_alloc(n->arena, size);
	int r = strings ? 0 : arena_error(n->arena, size);

	if (r == 0)
		r = number_index_reserve(&n->string_ids, n->n_symbols);
	if (r == -ENOMEM)
		n->error = r;
	if (r < 0) {
		n->is_full = true;
		return false;
	}
	n->strings = strings;
	return true;
}

static uint32_t want_string(struct jfr_names *n, uint64_t id)
{
	uint32_t i;

	if (!n->strings && !make_strings(n))
		return JFR_NONE;
	i = want(&n->string_ids, id, n->strings, sizeof(*n->strings), n->n_strings, n->n_symbols);
	if (i == n->n_strings)
		n->strings[n->n_strings++] = (struct jfr_symbol){.id = id, .string = JFR_NONE};
	return i;
}

/* The element with this id that was asked for, or NULL. */
static void *find(const struct number_index *x, uint64_t id, void *elements, size_t size)
{
	uint32_t i;

	return number_index_find(x, id, elements, size, &i) ? (char *)elements + i * size : NULL;
}

static char *keep(struct jfr_names *n, const char *text, size_t len)
{
	char *copy = arena_strndup(n->arena, text, len);

	if (!copy && arena_error(n->arena, len + 1) == -ENOMEM)
		n->error = -ENOMEM;
	else if (!copy)
		n->is_full = true;
	return copy;
}

static void set_text(struct jfr_names *n, struct jfr_symbol *s, const struct jfr_text *text)
{
	if (text->kind != JFR_TEXT_INLINE)
		return;
	s->text = keep(n, text->text, text->len);
	s->len = (uint32_t)text->len;
}

static bool read_method(void *ctx, uint64_t key)
{
	struct jfr_names *n = ctx;
	struct jfr_method *e = find(&n->method_ids, key, n->methods, sizeof(*n->methods));
	UNINITIALIZED uint64_t slots[JFR_PLAN_SLOTS_MAX + 1];
	const struct jfr_class *class;

	if (!e || n->method_plan.n == 0 || e->name != JFR_NONE)
		return false;
	jfr_plan_read(&n->method_plan, n->constants->reader, slots, NULL);
	if (n->constants->reader->error != 0)
		return true;
	class = jfr_names_want_class(n, slots[METHOD_CLASS]);
	if (class)
		e->class = (uint32_t)(class - n->classes);
	e->name = want_symbol(n, slots[METHOD_NAME]);
	return true;
}

static bool read_class(void *ctx, uint64_t key)
{
	struct jfr_names *n = ctx;
	struct jfr_class *e = find(&n->class_ids, key, n->classes, sizeof(*n->classes));
	UNINITIALIZED uint64_t slots[JFR_PLAN_SLOTS_MAX + 1];

	if (!e || n->class_plan.n == 0 || e->symbol != JFR_NONE)
		return false;
	jfr_plan_read(&n->class_plan, n->constants->reader, slots, NULL);
	if (n->constants->reader->error == 0)
		e->symbol = want_symbol(n, slots[0]);
	return true;
}

static bool read_symbol(void *ctx, uint64_t key)
{
	struct jfr_names *n = ctx;
	struct jfr_symbol *e = find(&n->symbol_ids, key, n->symbols, sizeof(*n->symbols));
	UNINITIALIZED uint64_t slots[JFR_PLAN_SLOTS_MAX + 1];
	UNINITIALIZED struct jfr_text text;

	if (!e || n->symbol_plan.n == 0 || e->text)
		return false;
	text.kind = JFR_TEXT_NULL;
	jfr_plan_read(&n->symbol_plan, n->constants->reader, slots, &text);
	if (n->constants->reader->error != 0)
		return true;
	if (text.kind == JFR_TEXT_REFERENCE)
		e->string = want_string(n, text.reference);
	else
		set_text(n, e, &text);
	return true;
}

static bool read_string(void *ctx, uint64_t key)
{
	struct jfr_names *n = ctx;
	struct jfr_symbol *e = find(&n->string_ids, key, n->strings, sizeof(*n->strings));
	UNINITIALIZED struct jfr_text text;

	if (!e || e->text)
		return false;
	jfr_reader_text(n->constants->reader, &text);
	if (n->constants->reader->error == 0)
		set_text(n, e, &text);
	return true;
}

static void follow_references(struct jfr_names *n)
{
	for (uint32_t i = 0; i < n->n_symbols; i++) {
		struct jfr_symbol *s = &n->symbols[i];

		if (!s->text && n->strings && s->string != JFR_NONE) {
			s->text = n->strings[s->string].text;
			s->len = n->strings[s->string].len;
		}
	}
}

static void name_class(struct jfr_names *n, struct jfr_class *c)
{
	const struct jfr_symbol *s = c->symbol != JFR_NONE ? &n->symbols[c->symbol] : NULL;
	UNINITIALIZED struct java_name name;

	if (!s || !s->text)
		return;
	java_name_of_file(&name, s->text, s->len);
	c->file = keep(n, name.text, name.len);
	java_name_of_class(&name, s->text, s->len);
	c->name = c->file ? keep(n, name.text, name.len) : NULL;
}

/* "[libjvm.so]" */
static const char *library_file(struct jfr_names *n, const char *library)
{
	UNINITIALIZED char text[JAVA_NAME_MAX_BYTES + 3];
	int len = library[0] != '\0' ? snprintf(text, sizeof(text), "[%s]", library) : 0;

	return len > 0 ? keep(n, text, (size_t)len) : "";
}

/*
 * What async-profiler says where it could not walk a stack looks like a native function without a
 * library; its names are in its sources, src/stackWalker.cpp and src/profiler.cpp.
 */
static bool is_error_of_profiler(const char *name)
{
	static const char *const prefixes[] = {
		"unknown",         "not_walkable",   "break_",    "storage_overflow",
		"stale_jmethodID", "deoptimization", "safepoint", "GC_active",
		"skipped",         "no_Java_frame",
	};

	for (size_t i = 0; i < ARRAY_SIZE(prefixes); i++) {
		if (strncmp(name, prefixes[i], strlen(prefixes[i])) == 0)
			return true;
	}
	return false;
}

static void name_native(struct jfr_names *n, struct jfr_method *m, const char *library,
			const char *name)
{
	UNINITIALIZED char text[JAVA_NAME_MAX_BYTES + 3];

	m->file = m->is_kernel ? "[kernel]" : library_file(n, library);
	if (!m->is_kernel && library[0] == '\0' && is_error_of_profiler(name)) {
		int len = snprintf(text, sizeof(text), "[%s]", name);

		m->is_note = true;
		m->function = keep(n, text, (size_t)len);
	} else {
		/* "clock_gettime@@GLIBC_2.17"; CPU profiles have no versions either */
		size_t len = strcspn(name, "@");

		m->function = keep(n, name, len > 0 ? len : strlen(name));
	}
}

static void name_method(struct jfr_names *n, struct jfr_method *m)
{
	const struct jfr_symbol *s = m->name != JFR_NONE ? &n->symbols[m->name] : NULL;
	const struct jfr_class *c = m->class != JFR_NONE ? &n->classes[m->class] : NULL;
	UNINITIALIZED char text[2 * JAVA_NAME_MAX_BYTES + 2];
	UNINITIALIZED struct java_name name;
	int len;

	if (!s || !s->text || !c || !c->name)
		return;
	java_name_of_text(&name, s->text, s->len);
	if (m->is_native) {
		/* not a class's: symbols of classes have no dots, libraries do */
		const struct jfr_symbol *library = &n->symbols[c->symbol];
		UNINITIALIZED struct java_name library_name;

		java_name_of_text(&library_name, library->text, library->len);
		name_native(n, m, library_name.text, name.text);
		return;
	}
	m->file = c->file;
	/* a class without a method: what was allocated or called, by async-profiler */
	m->is_note = name.len == 0;
	if (c->name[0] == '\0' || name.len == 0)
		len = snprintf(text, sizeof(text), "%s%s", c->name, name.text);
	else
		len = snprintf(text, sizeof(text), "%s.%s", c->name, name.text);
	m->function = keep(n, text, (size_t)len);
}

int jfr_names_read(struct jfr_names *n)
{
	static const struct {
		enum jfr_pool pool;
		bool (*read)(void *ctx, uint64_t key);
	} steps[] = {
		{JFR_POOL_METHOD, read_method},
		{JFR_POOL_CLASS, read_class},
		{JFR_POOL_SYMBOL, read_symbol},
		{JFR_POOL_STRING, read_string},
	};
	int r = 0;

	for (size_t i = 0; i < ARRAY_SIZE(steps) && r == 0; i++) {
		if (steps[i].pool == JFR_POOL_STRING && !n->strings)
			break;
		r = jfr_constants_each(n->constants, steps[i].pool, steps[i].read, n);
	}
	follow_references(n);
	for (uint32_t i = 0; i < n->n_classes; i++)
		name_class(n, &n->classes[i]);
	for (uint32_t i = 0; i < n->n_methods; i++)
		name_method(n, &n->methods[i]);
	return n->error != 0 ? n->error : r;
}

const struct jfr_method *jfr_names_method(const struct jfr_names *n, uint64_t id)
{
	struct jfr_method_cache *c = cached(n, id);

	if (c->id != id || c->method == 0) {
		uint32_t i;

		if (!number_index_find(&n->method_ids, id, n->methods, sizeof(*n->methods), &i))
			return NULL;
		*c = (struct jfr_method_cache){id, i + 1};
	}
	return &n->methods[c->method - 1];
}

const struct jfr_class *jfr_names_class(const struct jfr_names *n, uint64_t id)
{
	return find(&n->class_ids, id, n->classes, sizeof(*n->classes));
}
