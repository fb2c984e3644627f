#include "cluster-agent/otlp/otlp_dictionary.h"

#include <errno.h>

#include "cluster-agent/otlp/otlp_frames.h"
#include "common/limits.h"

/* The largest legitimate message is a stack, of 64 KiB. */
#define MESSAGE_MAX_BYTES ((size_t)MIB)

struct table {
	struct otlp_bytes *items;
	uint32_t n;
};

struct reader {
	struct otlp_dictionary *d;
	struct arena *arena;
	struct err *err;
	struct table tables[OTLP_DICTIONARY_MAX + 1]; /* by field number */
	/* of the attribute list or stack that is being read */
	struct otlp_file *file;
	bool is_kernel;
	struct otlp_bytes frame_type; /* of the last location that has one */
	uint64_t *text_bytes;         /* of each location */
	uint32_t *stack;
	uint32_t n_stack;
};

static const char *const names[OTLP_DICTIONARY_MAX + 1] = {
	[OTLP_DICTIONARY_MAPPINGS] = "mapping_table",
	[OTLP_DICTIONARY_LOCATIONS] = "location_table",
	[OTLP_DICTIONARY_FUNCTIONS] = "function_table",
	[OTLP_DICTIONARY_LINKS] = "link_table",
	[OTLP_DICTIONARY_STRINGS] = "string_table",
	[OTLP_DICTIONARY_ATTRIBUTES] = "attribute_table",
	[OTLP_DICTIONARY_STACKS] = "stack_table",
};

static const uint32_t limits[OTLP_DICTIONARY_MAX + 1] = {
	[OTLP_DICTIONARY_MAPPINGS] = LIMIT_OTLP_MAPPINGS,
	[OTLP_DICTIONARY_LOCATIONS] = LIMIT_PPROF_LOCATIONS,
	[OTLP_DICTIONARY_FUNCTIONS] = LIMIT_PPROF_FUNCTIONS,
	[OTLP_DICTIONARY_LINKS] = UINT32_MAX, /* skipped */
	[OTLP_DICTIONARY_STRINGS] = LIMIT_PPROF_STRINGS,
	[OTLP_DICTIONARY_ATTRIBUTES] = LIMIT_OTLP_ATTRIBUTES,
	[OTLP_DICTIONARY_STACKS] = LIMIT_PPROF_SAMPLES,
};

static int invalid(const struct reader *r, int field, const char *what)
{
	return err_set(r->err, -EBADMSG, "not a valid OTLP request: %s %s", names[field], what);
}

static int no_room(const struct reader *r, size_t size)
{
	int e = arena_error(r->arena, size);

	return e == -EFBIG ? err_set(r->err, e, "the request takes more than %zu bytes of memory",
				     r->arena->limit_bytes)
			   : e;
}

static void *alloc(struct reader *r, size_t n, size_t size, int *ret_error)
{
	void *p = arena_calloc(r->arena, n + 1, size);

	if (!p)
		*ret_error = no_room(r, (n + 1) * size);
	return p;
}

/* ---- the tables as bytes ---- */

static int count_items(struct reader *r, struct otlp_bytes dictionary)
{
	struct wire_reader w = otlp_reader(dictionary);
	struct wire_field f;
	int e;

	while ((e = otlp_next(&w, OTLP_DICTIONARY_MAX, &f)) > 0) {
		if (f.len > MESSAGE_MAX_BYTES)
			return err_set(r->err, -EFBIG, "an element of %s is too large",
				       names[f.number]);
		if (r->tables[f.number].n++ >= limits[f.number])
			return err_set(r->err, -EFBIG, "more than %u elements in %s",
				       limits[f.number], names[f.number]);
	}
	return e < 0 ? err_set(r->err, e, "not a valid OTLP request: broken dictionary") : 0;
}

static int keep_items(struct reader *r, struct otlp_bytes dictionary)
{
	struct wire_reader w = otlp_reader(dictionary);
	struct wire_field f;
	int e;

	while ((e = otlp_next(&w, OTLP_DICTIONARY_MAX, &f)) > 0) {
		struct table *t = &r->tables[f.number];

		if (f.number != OTLP_DICTIONARY_LINKS)
			t->items[t->n++] = (struct otlp_bytes){f.data, f.len};
	}
	return e;
}

/* A message may be sent in several pieces, which protobuf requires to be merged. */
static int each_dictionary(struct reader *r, struct otlp_bytes request,
			   int (*fn)(struct reader *r, struct otlp_bytes dictionary))
{
	struct wire_reader w = otlp_reader(request);
	struct wire_field f;
	int e;

	while ((e = otlp_next(&w, OTLP_REQUEST_DICTIONARY, &f)) > 0) {
		if (f.number != OTLP_REQUEST_DICTIONARY)
			continue;
		e = fn(r, (struct otlp_bytes){f.data, f.len});
		if (e < 0)
			return e;
	}
	return e < 0 ? err_set(r->err, e, "not a valid OTLP request: broken field") : 0;
}

static int read_tables(struct reader *r, struct otlp_bytes request)
{
	int e = each_dictionary(r, request, count_items);

	if (e < 0)
		return e;
	for (int i = 1; i <= OTLP_DICTIONARY_MAX; i++) {
		struct table *t = &r->tables[i];

		if (i == OTLP_DICTIONARY_LINKS)
			continue;
		t->items = alloc(r, t->n, sizeof(*t->items), &e);
		if (!t->items)
			return e;
		t->n = 0;
	}
	return each_dictionary(r, request, keep_items);
}

/* ---- strings and attributes ---- */

static int read_strings(struct reader *r)
{
	const struct table *t = &r->tables[OTLP_DICTIONARY_STRINGS];

	r->d->strings = t->items;
	r->d->n_strings = t->n;
	for (uint32_t i = 0; i < t->n; i++)
		if (t->items[i].len > LIMIT_PPROF_STRING_BYTES)
			return err_set(r->err, -EFBIG, "a string is longer than %u bytes",
				       LIMIT_PPROF_STRING_BYTES);
	return t->n > 0 && t->items[0].len > 0
		       ? invalid(r, OTLP_DICTIONARY_STRINGS, "does not begin with \"\"")
		       : 0;
}

static bool has_string(const struct reader *r, int32_t index)
{
	return index == 0 || (index > 0 && (uint32_t)index < r->d->n_strings);
}

static enum otlp_key key_of(struct otlp_bytes name)
{
	static const struct {
		const char *name;
		enum otlp_key key;
	} keys[] = {
		{"service.name", OTLP_KEY_SERVICE},
		{"process.executable.name", OTLP_KEY_EXECUTABLE},
		{"profile.frame.type", OTLP_KEY_FRAME_TYPE},
		{"process.executable.build_id.gnu", OTLP_KEY_BUILD_ID},
		{"process.executable.build_id.go", OTLP_KEY_BUILD_ID},
		{"process.executable.build_id.htlhash", OTLP_KEY_BUILD_HASH},
		{"coroot.profile.type", OTLP_KEY_PROFILE_TYPE},
		{"pprof.profile.comment", OTLP_KEY_COMMENT},
		{"pprof::base", OTLP_KEY_BASE},
	};

	for (size_t i = 0; i < ARRAY_SIZE(keys); i++)
		if (strlen(keys[i].name) == name.len &&
		    memcmp(keys[i].name, name.data, name.len) == 0)
			return keys[i].key;
	return OTLP_KEY_OTHER;
}

static int read_attributes(struct reader *r)
{
	const struct table *t = &r->tables[OTLP_DICTIONARY_ATTRIBUTES];
	int e = 0;

	r->d->attributes = alloc(r, t->n, sizeof(*r->d->attributes), &e);
	if (!r->d->attributes)
		return e;
	for (uint32_t i = 0; i < t->n; i++) {
		struct otlp_dictionary_attribute *to = &r->d->attributes[i];
		struct otlp_attribute a;

		if (otlp_read_attribute(t->items[i], &a) < 0)
			return invalid(r, OTLP_DICTIONARY_ATTRIBUTES, "has a broken element");
		if (!has_string(r, a.key_strindex) || (a.value.kind == OTLP_VALUE_STRINDEX &&
						       !has_string(r, (int32_t)a.value.number)))
			return invalid(r, OTLP_DICTIONARY_ATTRIBUTES,
				       "refers to a string that does not exist");
		to->key = key_of(otlp_dictionary_string(r->d, a.key_strindex));
		to->value = a.value;
		r->d->has_base |= to->key == OTLP_KEY_BASE;
		if (a.value.kind == OTLP_VALUE_STRINDEX) {
			to->value.kind = OTLP_VALUE_STRING;
			to->value.bytes = otlp_dictionary_string(r->d, (int32_t)a.value.number);
		}
	}
	r->d->n_attributes = t->n;
	return 0;
}

/* Attribute number of a file (mapping). */
static int add_file_attribute(void *ctx, uint64_t index)
{
	struct reader *r = ctx;
	const struct otlp_dictionary_attribute *a = otlp_dictionary_attribute(r->d, index);

	if (!a)
		return -ENOENT;
	if (a->value.kind != OTLP_VALUE_STRING)
		return 0;
	if (a->key == OTLP_KEY_BUILD_ID ||
	    (a->key == OTLP_KEY_BUILD_HASH && r->file->build_id.len == 0))
		r->file->build_id = a->value.bytes;
	return 0;
}

static bool is_text(struct otlp_bytes b, const char *text)
{
	return b.len == strlen(text) && memcmp(b.data, text, b.len) == 0;
}

static void set_frame_type(struct reader *r, struct otlp_bytes type)
{
	struct otlp_bytes last = r->frame_type;

	r->is_kernel = is_text(type, "kernel");
	if (r->is_kernel || is_text(type, "native") ||
	    (last.data && (last.len != type.len || memcmp(last.data, type.data, type.len) != 0)))
		r->d->crosses_languages = true;
	r->frame_type = type;
}

static int add_location_attribute(void *ctx, uint64_t index)
{
	struct reader *r = ctx;
	const struct otlp_dictionary_attribute *a = otlp_dictionary_attribute(r->d, index);

	if (!a)
		return -ENOENT;
	if (a->key == OTLP_KEY_FRAME_TYPE && a->value.kind == OTLP_VALUE_STRING)
		set_frame_type(r, a->value.bytes);
	return 0;
}

static int attribute_error(const struct reader *r, int field, int e)
{
	return invalid(r, field,
		       e == -ENOENT ? "refers to an attribute that does not exist"
				    : "has a broken element");
}

/* ---- files, functions, locations, stacks ---- */

static int read_files(struct reader *r, struct otlp_file *files)
{
	const struct table *t = &r->tables[OTLP_DICTIONARY_MAPPINGS];

	for (uint32_t i = 0; i < t->n; i++) {
		struct otlp_mapping m;
		int e;

		if (otlp_read_mapping(t->items[i], &m) < 0)
			return invalid(r, OTLP_DICTIONARY_MAPPINGS, "has a broken element");
		if (!has_string(r, m.filename_strindex))
			return invalid(r, OTLP_DICTIONARY_MAPPINGS,
				       "refers to a string that does not exist");
		if (i == 0 && (m.memory_start || m.memory_limit || m.filename_strindex))
			return invalid(r, OTLP_DICTIONARY_MAPPINGS,
				       "does not begin with an empty element");
		r->file = &files[i];
		e = otlp_each_number(t->items[i], OTLP_MAPPING_ATTRIBUTES, add_file_attribute, r);
		if (e < 0)
			return attribute_error(r, OTLP_DICTIONARY_MAPPINGS, e);
		files[i].path = otlp_dictionary_string(r->d, m.filename_strindex);
		files[i].memory_start = m.memory_start;
		files[i].offset = m.file_offset;
	}
	return 0;
}

static int read_functions(struct reader *r, struct otlp_name *functions)
{
	const struct table *t = &r->tables[OTLP_DICTIONARY_FUNCTIONS];

	for (uint32_t i = 0; i < t->n; i++) {
		struct otlp_function f;

		if (otlp_read_function(t->items[i], &f) < 0)
			return invalid(r, OTLP_DICTIONARY_FUNCTIONS, "has a broken element");
		if (!has_string(r, f.name_strindex) || !has_string(r, f.filename_strindex) ||
		    !has_string(r, f.system_name_strindex))
			return invalid(r, OTLP_DICTIONARY_FUNCTIONS,
				       "refers to a string that does not exist");
		if (i == 0 && (f.name_strindex || f.filename_strindex))
			return invalid(r, OTLP_DICTIONARY_FUNCTIONS,
				       "does not begin with an empty element");
		functions[i].name = otlp_dictionary_string(
			r->d, f.name_strindex ? f.name_strindex : f.system_name_strindex);
		functions[i].file = otlp_dictionary_string(r->d, f.filename_strindex);
	}
	return 0;
}

static int read_location(struct reader *r, uint32_t i, struct otlp_frames *frames)
{
	struct otlp_bytes message = r->tables[OTLP_DICTIONARY_LOCATIONS].items[i];
	struct otlp_frame_source source = {.message = message};
	struct otlp_location l;
	int e;

	if (otlp_read_location(message, &l) < 0)
		return invalid(r, OTLP_DICTIONARY_LOCATIONS, "has a broken element");
	if (l.mapping_index < 0 ||
	    (l.mapping_index > 0 &&
	     (uint32_t)l.mapping_index >= r->tables[OTLP_DICTIONARY_MAPPINGS].n))
		return invalid(r, OTLP_DICTIONARY_LOCATIONS,
			       "refers to a mapping that does not exist");
	if (l.n_lines > LIMIT_PPROF_LINES_PER_LOCATION)
		return err_set(r->err, -EFBIG, "a location has more than %u lines",
			       LIMIT_PPROF_LINES_PER_LOCATION);
	if (i == 0)
		return l.mapping_index || l.address || l.n_lines
			       ? invalid(r, OTLP_DICTIONARY_LOCATIONS,
					 "does not begin with an empty element")
			       : 0;
	r->is_kernel = false;
	e = otlp_each_number(message, OTLP_LOCATION_ATTRIBUTES, add_location_attribute, r);
	if (e < 0)
		return attribute_error(r, OTLP_DICTIONARY_LOCATIONS, e);
	source.is_kernel = r->is_kernel;
	source.file = (uint32_t)l.mapping_index;
	source.address = l.address;
	source.n_lines = (uint32_t)l.n_lines;
	e = otlp_frames_make(frames, &source, &r->d->locations[i]);
	if (e == -ENOENT)
		return invalid(r, OTLP_DICTIONARY_LOCATIONS,
			       "refers to a function that does not exist");
	return e < 0 ? no_room(r, MESSAGE_MAX_BYTES) : 0;
}

static int read_locations(struct reader *r)
{
	const struct table *t = &r->tables[OTLP_DICTIONARY_LOCATIONS];
	struct otlp_frames frames = {
		.arena = r->arena,
		.n_files = r->tables[OTLP_DICTIONARY_MAPPINGS].n,
		.n_names = r->tables[OTLP_DICTIONARY_FUNCTIONS].n,
	};
	struct otlp_file *files;
	struct otlp_name *functions = NULL;
	int e = 0;

	files = alloc(r, frames.n_files, sizeof(*files), &e);
	if (files)
		functions = alloc(r, frames.n_names, sizeof(*functions), &e);
	if (functions)
		r->d->locations = alloc(r, t->n, sizeof(*r->d->locations), &e);
	if (e == 0)
		e = read_files(r, files);
	if (e == 0)
		e = read_functions(r, functions);
	frames.files = files;
	frames.names = functions;
	for (uint32_t i = 0; i < t->n && e == 0; i++)
		e = read_location(r, i, &frames);
	r->d->n_locations = t->n;
	r->d->functions = frames.functions;
	r->d->n_functions = frames.n_functions;
	return e;
}

/* Location 0 stands for none. */
static int add_to_stack(void *ctx, uint64_t location)
{
	struct reader *r = ctx;

	if (location >= r->d->n_locations)
		return location == 0 ? 0 : -ENOENT;
	if (location == 0)
		return 0;
	if (r->n_stack == LIMIT_PPROF_STACK_DEPTH)
		return -EFBIG;
	r->stack[r->n_stack++] = (uint32_t)location;
	return 0;
}

/*
 * Counted once for each location: stacks may have a million times one that has hundreds of lines.
 */
static int count_text(struct reader *r)
{
	const struct otlp_dictionary *d = r->d;
	int e = 0;

	r->text_bytes = alloc(r, d->n_locations, sizeof(*r->text_bytes), &e);
	for (uint32_t i = 0; i < d->n_locations && e == 0; i++) {
		const struct profile_location *l = &d->locations[i];

		for (uint32_t j = 0; j < l->n_lines; j++) {
			const struct profile_function *f = &d->functions[l->lines[j].function];

			r->text_bytes[i] += f->name.len + f->file.len + 3; /* " :0" */
		}
	}
	return e;
}

static int read_stack(struct reader *r, uint32_t i)
{
	struct otlp_stack *s = &r->d->stacks[i];
	uint32_t *locations;
	int e;

	r->n_stack = 0;
	e = otlp_each_number(r->tables[OTLP_DICTIONARY_STACKS].items[i], OTLP_STACK_LOCATIONS,
			     add_to_stack, r);
	if (e == -EFBIG)
		return err_set(r->err, e, "a stack has more than %u locations",
			       LIMIT_PPROF_STACK_DEPTH);
	if (e < 0)
		return invalid(r, OTLP_DICTIONARY_STACKS,
			       e == -ENOENT ? "refers to a location that does not exist"
					    : "has a broken element");
	if (i == 0 && r->n_stack > 0)
		return invalid(r, OTLP_DICTIONARY_STACKS, "does not begin with an empty element");
	locations = alloc(r, r->n_stack, sizeof(*locations), &e);
	if (!locations)
		return e;
	memcpy(locations, r->stack, r->n_stack * sizeof(*locations));
	*s = (struct otlp_stack){.locations = locations, .n = r->n_stack};
	for (uint32_t j = 0; j < s->n; j++)
		s->text_bytes += r->text_bytes[locations[j]];
	return 0;
}

static int read_stacks(struct reader *r)
{
	const struct table *t = &r->tables[OTLP_DICTIONARY_STACKS];
	int e = 0;

	r->stack = alloc(r, LIMIT_PPROF_STACK_DEPTH, sizeof(*r->stack), &e);
	if (r->stack)
		r->d->stacks = alloc(r, t->n, sizeof(*r->d->stacks), &e);
	for (uint32_t i = 0; i < t->n && e == 0; i++)
		e = read_stack(r, i);
	/* the empty stack is there even if the table is not */
	r->d->n_stacks = t->n > 0 ? t->n : 1;
	return e;
}

int otlp_dictionary_read(struct otlp_dictionary *ret, struct arena *arena,
			 struct otlp_bytes request, struct err *err)
{
	struct otlp_dictionary d = {.n_strings = 0};
	struct reader r = {.d = &d, .arena = arena, .err = err};
	int e = read_tables(&r, request);

	if (e == 0)
		e = read_strings(&r);
	if (e == 0)
		e = read_attributes(&r);
	if (e == 0)
		e = read_locations(&r);
	if (e == 0)
		e = count_text(&r);
	if (e == 0)
		e = read_stacks(&r);
	if (e == 0)
		*ret = d;
	return e;
}

const struct otlp_dictionary_attribute *otlp_dictionary_attribute(const struct otlp_dictionary *d,
								  uint64_t index)
{
	return index < d->n_attributes ? &d->attributes[index] : NULL;
}

struct otlp_bytes otlp_dictionary_string(const struct otlp_dictionary *d, int32_t index)
{
	return index >= 0 && (uint32_t)index < d->n_strings ? d->strings[index]
							    : (struct otlp_bytes){.len = 0};
}
