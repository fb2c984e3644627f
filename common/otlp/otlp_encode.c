/*
 * Both formats have tables of strings, functions, locations and mappings that refer to each other,
 * so most of the work is to renumber: pprof counts by ids, OTLP by position, and OTLP's element 0
 * is "none". The string table of the pprof is kept as it is, and what is missing is added to it.
 *
 * A pprof has all values of a sample together, OTLP one profile for each type: so each sample's
 * stack becomes an element of the stack table, to which the profiles refer.
 *
 * Messages that are nested are written into a buffer first, since their length comes before them.
 */
#include "common/otlp/otlp_encode.h"

#include <errno.h>

#include "common/data/gzip.h"
#include "common/http/http_text.h"
#include "common/limits.h"
#include "common/otlp/otlp_messages.h"
#include "common/pprof/pprof_ids.h"
#include "common/pprof/pprof_messages.h"
#include "common/pprof/pprof_wire.h"
#include "common/text/utf8.h"

#define GZIP_LEVEL 1
#define KERNEL "[kernel]"

/* Strings that are added after those of the pprof. */
enum extra {
	EXTRA_BUILD_ID,
	EXTRA_FRAME_TYPE,
	EXTRA_PROFILE_TYPE,
	EXTRA_COMMENT,
	N_EXTRA,
};

static const char *const extras[N_EXTRA] = {
	[EXTRA_BUILD_ID] = "process.executable.build_id.gnu",
	[EXTRA_FRAME_TYPE] = "profile.frame.type",
	[EXTRA_PROFILE_TYPE] = "coroot.profile.type",
	[EXTRA_COMMENT] = "pprof.profile.comment",
};

/* Elements of attribute_table that are always there. */
enum { ATTRIBUTE_NONE, ATTRIBUTE_KERNEL, ATTRIBUTE_NATIVE, N_FIXED_ATTRIBUTES };

struct encoder {
	struct buf raw; /* the pprof, inflated */
	const uint8_t *data;
	size_t len;
	struct buf dictionary; /* but for the tables below */
	struct buf mappings, attributes, strings;
	struct buf message, inner, numbers; /* that are being written */
	struct otlp_bytes *texts;           /* of the pprof */
	uint32_t n_texts, n_strings;        /* n_strings with what was added */
	int64_t *function_files;            /* string by number of the function */
	struct pprof_ids functions, locations, map_ids;
	uint32_t n_mappings, n_attributes;
	struct pprof_value_type types[LIMIT_PPROF_TYPES];
	uint32_t n_types;
	struct buf profiles[LIMIT_PPROF_TYPES]; /* samples of each type */
	uint32_t n_samples;
	struct pprof_value_type period_type;
	int64_t period, time_ns, duration_ns;
	struct buf comments; /* ArrayValue */
	uint64_t ids[LIMIT_PPROF_STACK_DEPTH];
	uint64_t values[LIMIT_PPROF_TYPES];
	struct pprof_line lines[LIMIT_PPROF_LINES_PER_LOCATION];
	int error; /* of a writer */
};

static void encoder_free(struct encoder *e)
{
	struct buf *const bufs[] = {&e->raw,        &e->dictionary, &e->mappings,
				    &e->attributes, &e->strings,    &e->message,
				    &e->inner,      &e->numbers,    &e->comments};

	for (size_t i = 0; i < ARRAY_SIZE(bufs); i++)
		buf_fini(bufs[i]);
	for (size_t i = 0; i < LIMIT_PPROF_TYPES; i++)
		buf_fini(&e->profiles[i]);
	pprof_ids_fini(&e->functions);
	pprof_ids_fini(&e->locations);
	pprof_ids_fini(&e->map_ids);
	free(e->texts);
	free(e->function_files);
	free(e);
}
DEFINE_CLEANUP(struct encoder *, encoder_free);

static void init_buffers(struct encoder *e)
{
	struct buf *const bufs[] = {&e->raw,        &e->dictionary, &e->mappings,
				    &e->attributes, &e->strings,    &e->message,
				    &e->inner,      &e->numbers,    &e->comments};

	for (size_t i = 0; i < ARRAY_SIZE(bufs); i++)
		buf_init(bufs[i], LIMIT_UPLOAD_INFLATED_BYTES);
	for (size_t i = 0; i < LIMIT_PPROF_TYPES; i++)
		buf_init(&e->profiles[i], LIMIT_UPLOAD_INFLATED_BYTES);
}

/* ---- writing ---- */

static void put_number(struct encoder *e, struct buf *to, uint32_t field, uint64_t value)
{
	struct wire_writer w = {.out = to, .error = e->error};

	wire_writer_put_number(&w, field, value);
	e->error = w.error;
}

static void put_bytes(struct encoder *e, struct buf *to, uint32_t field, const void *data,
		      size_t len)
{
	struct wire_writer w = {.out = to, .error = e->error};

	/* an empty element of a table counts, too */
	wire_writer_put_head(&w, field, len);
	if (w.error == 0 && len > 0)
		w.error = buf_add(to, data, len);
	e->error = w.error;
}

static void put_buf(struct encoder *e, struct buf *to, uint32_t field, const struct buf *from)
{
	put_bytes(e, to, field, from->data, from->len);
}

static void put_text(struct encoder *e, struct buf *to, uint32_t field, const char *text)
{
	put_bytes(e, to, field, text, strlen(text));
}

static void put_fixed64(struct encoder *e, struct buf *to, uint32_t field, uint64_t value)
{
	struct wire_writer w = {.out = to, .error = e->error};
	uint8_t bytes[8];

	for (unsigned i = 0; i < 8; i++)
		bytes[i] = (uint8_t)(value >> (8 * i));
	wire_writer_put_varint(&w, (uint64_t)field << 3 | WIRE_FIXED64);
	e->error = w.error ? w.error : buf_add(to, bytes, sizeof(bytes));
}

/* Appends a varint without a tag: of a packed field. */
static void put_packed(struct encoder *e, struct buf *to, uint64_t value)
{
	struct wire_writer w = {.out = to, .error = e->error};

	wire_writer_put_varint(&w, value);
	e->error = w.error;
}

/* AnyValue with a text, into inner. */
static void make_text_value(struct encoder *e, const void *text, size_t len)
{
	buf_truncate(&e->inner, 0);
	put_bytes(e, &e->inner, 1, text, len);
}

/* An element of attribute_table; the value is in inner. Returns its number. */
static uint32_t add_attribute(struct encoder *e, enum extra key)
{
	buf_truncate(&e->message, 0);
	put_number(e, &e->message, 1, e->n_texts + key);
	put_buf(e, &e->message, 2, &e->inner);
	put_buf(e, &e->attributes, OTLP_DICTIONARY_ATTRIBUTES, &e->message);
	return e->n_attributes++;
}

static uint32_t add_string(struct encoder *e, const void *text, size_t len)
{
	put_bytes(e, &e->strings, OTLP_DICTIONARY_STRINGS, text, len);
	return e->n_strings++;
}

/* ---- reading the pprof ---- */

typedef int (*field_fn)(struct encoder *e, const struct wire_field *f);

static int each(struct encoder *e, uint32_t number, field_fn fn)
{
	struct wire_reader r = {e->data, e->data + e->len};
	struct wire_field f;
	int n;

	while ((n = wire_reader_read_field(&r, &f)) > 0) {
		if (f.number != number)
			continue;
		if (f.type != WIRE_BYTES)
			return -EBADMSG;
		n = fn(e, &f);
		if (n < 0)
			return n;
	}
	return n < 0 ? n : e->error;
}

static bool has_text(const struct encoder *e, int64_t index)
{
	return index >= 0 && (uint64_t)index < e->n_texts;
}

static struct otlp_bytes text_of(const struct encoder *e, int64_t index)
{
	return has_text(e, index) ? e->texts[index] : (struct otlp_bytes){(const uint8_t *)"", 0};
}

static bool begins(struct otlp_bytes t, const char *with)
{
	return t.len >= strlen(with) && memcmp(t.data, with, strlen(with)) == 0;
}

struct counts {
	uint64_t strings, functions, locations, mappings, samples;
};

static int count(struct encoder *e, struct counts *c)
{
	struct wire_reader r = {e->data, e->data + e->len};
	struct wire_field f;
	int n;

	while ((n = wire_reader_read_field(&r, &f)) > 0) {
		c->strings += f.number == PPROF_STRING_TABLE;
		c->functions += f.number == PPROF_FUNCTION;
		c->locations += f.number == PPROF_LOCATION;
		c->mappings += f.number == PPROF_MAPPING;
		c->samples += f.number == PPROF_SAMPLE;
		if (f.number == PPROF_TIME_NANOS)
			e->time_ns = (int64_t)f.value;
		else if (f.number == PPROF_DURATION_NANOS)
			e->duration_ns = (int64_t)f.value;
		else if (f.number == PPROF_PERIOD)
			e->period = (int64_t)f.value;
	}
	if (n < 0)
		return n;
	return c->strings > LIMIT_PPROF_STRINGS || c->functions > LIMIT_PPROF_FUNCTIONS ||
			       c->locations > LIMIT_PPROF_LOCATIONS ||
			       c->mappings > LIMIT_OTLP_MAPPINGS || c->samples > LIMIT_PPROF_SAMPLES
		       ? -EFBIG
		       : 0;
}

/* A text of protobuf is UTF-8, or the whole request is refused; symbols may be anything. */
static int add_text(struct encoder *e, const struct wire_field *f)
{
	char *copy;

	e->texts[e->n_texts++] = (struct otlp_bytes){f->data, f->len};
	if (f->len == 0 || utf8_is_valid((const char *)f->data, f->len)) {
		add_string(e, f->data, f->len);
		return e->error;
	}
	copy = malloc(f->len);
	if (!copy)
		return -ENOMEM;
	memcpy(copy, f->data, f->len);
	utf8_repair(copy, f->len);
	add_string(e, copy, f->len);
	free(copy);
	return e->error;
}

static int add_type(struct encoder *e, const struct wire_field *f)
{
	if (e->n_types == LIMIT_PPROF_TYPES)
		return -EFBIG;
	return pprof_read_value_type(f->data, f->len, &e->types[e->n_types++]);
}

static int read_period_type(struct encoder *e, const struct wire_field *f)
{
	return pprof_read_value_type(f->data, f->len, &e->period_type);
}

static int number_mapping(struct encoder *e, const struct wire_field *f)
{
	struct pprof_mapping m;

	if (pprof_read_mapping(f->data, f->len, &m) < 0)
		return -EBADMSG;
	pprof_ids_add(&e->map_ids, m.id);
	return 0;
}

static void add_mapping(struct encoder *e, const struct pprof_mapping *m)
{
	struct otlp_bytes id = text_of(e, m->build_id);
	uint32_t attribute = 0;

	if (id.len > 0) {
		make_text_value(e, id.data, id.len);
		attribute = add_attribute(e, EXTRA_BUILD_ID);
	}
	buf_truncate(&e->message, 0);
	put_number(e, &e->message, 1, m->start);
	put_number(e, &e->message, 2, m->limit);
	put_number(e, &e->message, 3, m->offset);
	put_number(e, &e->message, 4, has_text(e, m->file) ? (uint64_t)m->file : 0);
	put_number(e, &e->message, OTLP_MAPPING_ATTRIBUTES, attribute);
	put_buf(e, &e->mappings, OTLP_DICTIONARY_MAPPINGS, &e->message);
	e->n_mappings++;
}

static int write_mapping(struct encoder *e, const struct wire_field *f)
{
	struct pprof_mapping m;

	if (pprof_read_mapping(f->data, f->len, &m) < 0)
		return -EBADMSG;
	add_mapping(e, &m);
	return e->error;
}

static int number_function(struct encoder *e, const struct wire_field *f)
{
	struct pprof_function fn;

	if (pprof_read_function(f->data, f->len, &fn) < 0)
		return -EBADMSG;
	e->function_files[e->functions.n] = fn.file;
	pprof_ids_add(&e->functions, fn.id);
	buf_truncate(&e->message, 0);
	put_number(e, &e->message, 1, has_text(e, fn.name) ? (uint64_t)fn.name : 0);
	put_number(e, &e->message, 3, has_text(e, fn.file) ? (uint64_t)fn.file : 0);
	put_buf(e, &e->dictionary, OTLP_DICTIONARY_FUNCTIONS, &e->message);
	return e->error;
}

static int put_lines(struct encoder *e, const struct pprof_lines *lines, uint32_t *ret_file)
{
	for (size_t i = 0; i < lines->n; i++) {
		uint32_t function;

		if (!pprof_ids_find(&e->functions, lines->items[i].function_id, &function))
			return -EBADMSG;
		buf_truncate(&e->inner, 0);
		put_number(e, &e->inner, 1, (uint64_t)function + 1);
		put_number(e, &e->inner, 2, (uint64_t)lines->items[i].line);
		put_buf(e, &e->message, 3, &e->inner);
		*ret_file = function;
	}
	return 0;
}

static uint32_t frame_type(const struct encoder *e, const struct pprof_location *l,
			   uint32_t function)
{
	struct otlp_bytes file = l->lines.n > 0 ? text_of(e, e->function_files[function])
						: (struct otlp_bytes){(const uint8_t *)"", 0};

	if (file.len == strlen(KERNEL) && begins(file, KERNEL))
		return ATTRIBUTE_KERNEL;
	return l->mapping_id > 0 || begins(file, "[") ? ATTRIBUTE_NATIVE : ATTRIBUTE_NONE;
}

static int write_location(struct encoder *e, const struct wire_field *f)
{
	struct pprof_location l = {
		.lines = {.items = e->lines, .max = LIMIT_PPROF_LINES_PER_LOCATION}};
	uint32_t mapping = 0, function = 0;
	int r;

	if (pprof_read_location(f->data, f->len, &l) < 0)
		return -EBADMSG;
	if (l.lines.n > l.lines.max)
		return -EFBIG;
	if (l.mapping_id > 0 && pprof_ids_find(&e->map_ids, l.mapping_id, &mapping))
		mapping++;
	pprof_ids_add(&e->locations, l.id);
	buf_truncate(&e->message, 0);
	put_number(e, &e->message, 1, mapping);
	put_number(e, &e->message, 2, l.address);
	r = put_lines(e, &l.lines, &function);
	put_number(e, &e->message, OTLP_LOCATION_ATTRIBUTES, frame_type(e, &l, function));
	put_buf(e, &e->dictionary, OTLP_DICTIONARY_LOCATIONS, &e->message);
	return r < 0 ? r : e->error;
}

/* Its stack becomes element 1 + its number of the stack table. */
static int write_sample(struct encoder *e, const struct wire_field *f)
{
	struct pprof_sample s = {
		.location_ids = {.items = e->ids, .max = LIMIT_PPROF_STACK_DEPTH},
		.values = {.items = e->values, .max = LIMIT_PPROF_TYPES},
	};
	if (pprof_read_sample(f->data, f->len, &s) < 0 || s.values.n != e->n_types)
		return -EBADMSG;
	if (s.location_ids.n > s.location_ids.max)
		return -EFBIG;
	buf_truncate(&e->numbers, 0);
	for (size_t i = 0; i < s.location_ids.n; i++) {
		uint32_t location;

		if (!pprof_ids_find(&e->locations, e->ids[i], &location))
			return -EBADMSG;
		put_packed(e, &e->numbers, (uint64_t)location + 1);
	}
	buf_truncate(&e->message, 0);
	if (e->numbers.len > 0)
		put_buf(e, &e->message, OTLP_STACK_LOCATIONS, &e->numbers);
	put_buf(e, &e->dictionary, OTLP_DICTIONARY_STACKS, &e->message);
	e->n_samples++;
	for (uint32_t i = 0; i < e->n_types; i++) {
		if (e->values[i] == 0)
			continue;
		buf_truncate(&e->message, 0);
		put_number(e, &e->message, 1, e->n_samples);
		/* packed, as proto3 has it */
		buf_truncate(&e->inner, 0);
		put_packed(e, &e->inner, e->values[i]);
		put_buf(e, &e->message, 4, &e->inner);
		put_buf(e, &e->profiles[i], OTLP_PROFILE_SAMPLES, &e->message);
	}
	return e->error;
}

/* Comments are varints, one by one or packed. */
static int add_comment(void *ctx, uint64_t index)
{
	struct encoder *e = ctx;
	struct otlp_bytes text = text_of(e, (int64_t)index);

	make_text_value(e, text.data, text.len);
	put_buf(e, &e->comments, OTLP_ARRAY_VALUES, &e->inner);
	return e->error;
}

/* ---- the request ---- */

static int read_tables(struct encoder *e, const struct counts *c)
{
	int r;

	e->texts = calloc(c->strings + 1, sizeof(*e->texts));
	e->function_files = calloc(c->functions + 1, sizeof(*e->function_files));
	if (!e->texts || !e->function_files)
		return -ENOMEM;
	r = pprof_ids_init(&e->functions, c->functions);
	if (r < 0)
		return r;
	r = pprof_ids_init(&e->locations, c->locations);
	if (r < 0)
		return r;
	r = pprof_ids_init(&e->map_ids, c->mappings);
	if (r < 0)
		return r;
	r = each(e, PPROF_STRING_TABLE, add_text);
	if (r < 0)
		return r;
	if (e->n_texts == 0 || e->texts[0].len > 0)
		return -EBADMSG;
	r = each(e, PPROF_SAMPLE_TYPE, add_type);
	if (r < 0)
		return r;
	r = each(e, PPROF_PERIOD_TYPE, read_period_type);
	if (r < 0)
		return r;
	return each(e, PPROF_MAPPING, number_mapping);
}

/* Element 0 of all tables, strings of our own, and attributes that are always there. */
static void begin_tables(struct encoder *e)
{
	static const char *const frame_types[] = {
		[ATTRIBUTE_KERNEL] = "kernel", [ATTRIBUTE_NATIVE] = "native"};

	for (int i = 0; i < N_EXTRA; i++)
		add_string(e, extras[i], strlen(extras[i]));
	put_bytes(e, &e->mappings, OTLP_DICTIONARY_MAPPINGS, NULL, 0);
	put_bytes(e, &e->attributes, OTLP_DICTIONARY_ATTRIBUTES, NULL, 0);
	put_bytes(e, &e->dictionary, OTLP_DICTIONARY_LINKS, NULL, 0);
	put_bytes(e, &e->dictionary, OTLP_DICTIONARY_FUNCTIONS, NULL, 0);
	put_bytes(e, &e->dictionary, OTLP_DICTIONARY_LOCATIONS, NULL, 0);
	put_bytes(e, &e->dictionary, OTLP_DICTIONARY_STACKS, NULL, 0);
	e->n_attributes = 1;
	for (uint32_t i = ATTRIBUTE_KERNEL; i < N_FIXED_ATTRIBUTES; i++) {
		make_text_value(e, frame_types[i], strlen(frame_types[i]));
		(void)add_attribute(e, EXTRA_FRAME_TYPE);
	}
}

static int end_ids(struct pprof_ids *ids)
{
	int r = pprof_ids_end(ids);

	return r > 0 ? -EBADMSG : r;
}

static int write_tables(struct encoder *e)
{
	int r;

	begin_tables(e);
	r = each(e, PPROF_MAPPING, write_mapping);
	if (r < 0)
		return r;
	r = each(e, PPROF_FUNCTION, number_function);
	if (r < 0)
		return r;
	r = end_ids(&e->functions);
	if (r < 0)
		return r;
	r = end_ids(&e->map_ids);
	if (r < 0)
		return r;
	r = each(e, PPROF_LOCATION, write_location);
	if (r < 0)
		return r;
	r = end_ids(&e->locations);
	if (r < 0)
		return r;
	return each(e, PPROF_SAMPLE, write_sample);
}

/* "go_runtime:heap_inuse_space:bytes" → "inuse_space"; a type of another form as it is */
static struct otlp_bytes type_name(struct otlp_bytes type)
{
	static const char *const prefixes[] = {"heap_", "profile_", "goroutine_"};
	const uint8_t *name = memchr(type.data, ':', type.len);
	const uint8_t *end =
		name ? memchr(name + 1, ':', (size_t)(type.data + type.len - name - 1)) : NULL;
	struct otlp_bytes ret;

	if (!end)
		return type;
	ret = (struct otlp_bytes){name + 1, (size_t)(end - name - 1)};
	for (size_t i = 0; i < ARRAY_SIZE(prefixes); i++)
		if (begins(ret, prefixes[i]))
			return (struct otlp_bytes){ret.data + strlen(prefixes[i]),
						   ret.len - strlen(prefixes[i])};
	return ret;
}

static void put_value_type(struct encoder *e, struct buf *to, uint32_t field, uint64_t type,
			   int64_t unit)
{
	buf_truncate(&e->inner, 0);
	put_number(e, &e->inner, 1, type);
	put_number(e, &e->inner, 2, has_text(e, unit) ? (uint64_t)unit : 0);
	put_buf(e, to, field, &e->inner);
}

/* A Profile, appended to scope. */
static void put_profile(struct encoder *e, uint32_t i, uint32_t comments, struct buf *scope)
{
	struct otlp_bytes type = text_of(e, e->types[i].type), name = type_name(type);
	struct buf *profile = &e->profiles[i];
	int64_t start_ns = e->time_ns - e->duration_ns;
	uint32_t own_type;

	make_text_value(e, type.data, type.len);
	own_type = add_attribute(e, EXTRA_PROFILE_TYPE);
	put_value_type(e, profile, 1, add_string(e, name.data, name.len), e->types[i].unit);
	put_fixed64(e, profile, 3, start_ns > 0 ? (uint64_t)start_ns : 0);
	put_number(e, profile, 4, e->duration_ns > 0 ? (uint64_t)e->duration_ns : 0);
	if (e->period > 0) {
		put_value_type(e, profile, 5,
			       has_text(e, e->period_type.type) ? (uint64_t)e->period_type.type : 0,
			       e->period_type.unit);
		put_number(e, profile, 6, (uint64_t)e->period);
	}
	buf_truncate(&e->numbers, 0);
	put_packed(e, &e->numbers, own_type);
	if (comments > 0)
		put_packed(e, &e->numbers, comments);
	put_buf(e, profile, OTLP_PROFILE_ATTRIBUTES, &e->numbers);
	put_buf(e, scope, OTLP_SCOPE_PROFILES_PROFILES, profile);
	buf_fini(profile);
}

static int put_profiles(struct encoder *e, struct buf *scope)
{
	uint32_t comments = 0;
	int r = otlp_each_number((struct otlp_bytes){e->data, e->len}, PPROF_COMMENT, add_comment,
				 e);

	if (r < 0)
		return r;
	if (e->comments.len > 0) {
		buf_truncate(&e->inner, 0);
		put_buf(e, &e->inner, 5, &e->comments);
		comments = add_attribute(e, EXTRA_COMMENT);
	}
	for (uint32_t i = 0; i < e->n_types; i++)
		put_profile(e, i, comments, scope);
	return e->error;
}

/* A label of the query: KeyValue, appended to resource. */
static void put_label(struct encoder *e, char *label, struct buf *resource)
{
	char *value = strchr(label, '=');

	if (!value)
		return;
	*value++ = '\0';
	http_percent_decode(label);
	http_percent_decode(value);
	/* our own names for what k8s.namespace.name and k8s.pod.name say */
	if (strcmp(label, "namespace") == 0 || strcmp(label, "pod") == 0)
		return;
	buf_truncate(&e->inner, 0);
	put_text(e, &e->inner, 1, value);
	buf_truncate(&e->message, 0);
	put_text(e, &e->message, 1, label);
	put_buf(e, &e->message, 2, &e->inner);
	put_buf(e, resource, OTLP_RESOURCE_ATTRIBUTES, &e->message);
}

static int put_resource(struct encoder *e, const char *query, struct buf *to)
{
	AUTO_FREE char *copy = strdup(query);
	CLEANUP(buf_fini) struct buf resource = {0};
	char *at = copy, *label;

	if (!copy)
		return -ENOMEM;
	buf_init(&resource, LIMIT_UPLOAD_INFLATED_BYTES);
	while ((label = strsep(&at, "&")))
		put_label(e, label, &resource);
	put_buf(e, to, OTLP_RESOURCE_PROFILES_RESOURCE, &resource);
	return e->error;
}

static int put_resource_profiles(struct encoder *e, const struct otlp_encode_config *cfg,
				 struct buf *request)
{
	CLEANUP(buf_fini) struct buf profiles;
	CLEANUP(buf_fini) struct buf scope;
	int r;

	buf_init(&profiles, LIMIT_UPLOAD_INFLATED_BYTES);
	buf_init(&scope, LIMIT_UPLOAD_INFLATED_BYTES);
	buf_truncate(&e->message, 0);
	put_text(e, &e->message, 1, cfg->scope);
	put_text(e, &e->message, 2, cfg->version);
	put_buf(e, &scope, OTLP_SCOPE_PROFILES_SCOPE, &e->message);
	r = put_profiles(e, &scope);
	if (r == 0)
		r = put_resource(e, cfg->query, &profiles);
	put_buf(e, &profiles, OTLP_RESOURCE_PROFILES_SCOPES, &scope);
	put_buf(e, request, OTLP_REQUEST_RESOURCE_PROFILES, &profiles);
	return r < 0 ? r : e->error;
}

/* The tables that were written apart join the others. */
static int put_dictionary(struct encoder *e, struct buf *request)
{
	const struct buf *const tables[] = {&e->mappings, &e->attributes, &e->strings};
	int r = 0;

	for (size_t i = 0; i < ARRAY_SIZE(tables) && r == 0; i++)
		r = buf_add(&e->dictionary, tables[i]->data, tables[i]->len);
	put_buf(e, request, OTLP_REQUEST_DICTIONARY, &e->dictionary);
	return r < 0 ? r : e->error;
}

static int encode(struct encoder *e, const struct otlp_encode_config *cfg, struct buf *out)
{
	CLEANUP(buf_fini) struct buf request;
	struct counts c = {0};
	int r = count(e, &c);

	buf_init(&request, LIMIT_UPLOAD_INFLATED_BYTES);
	if (r == 0)
		r = read_tables(e, &c);
	if (r == 0)
		r = write_tables(e);
	if (r == 0)
		r = put_resource_profiles(e, cfg, &request);
	if (r == 0)
		r = put_dictionary(e, &request);
	return r < 0 ? r : gzip_deflate(request.data, request.len, GZIP_LEVEL, out);
}

int otlp_encode(const void *pprof, size_t len, const struct otlp_encode_config *cfg,
		struct buf *out)
{
	CLEANUP(encoder_freep) struct encoder *e = calloc(1, sizeof(*e));
	int r = 0;

	if (!e)
		return -ENOMEM;
	init_buffers(e);
	e->data = pprof;
	e->len = len;
	if (gzip_detect(pprof, len)) {
		r = gzip_inflate(pprof, len, &e->raw);
		e->data = (const uint8_t *)e->raw.data;
		e->len = e->raw.len;
	}
	return r < 0 ? r : encode(e, cfg, out);
}

bool otlp_answer_is_success(const void *body, size_t len)
{
	enum { PARTIAL_SUCCESS = 1, REJECTED_PROFILES = 1 };
	struct wire_reader r = otlp_reader((struct otlp_bytes){body, len});
	struct wire_field f;

	while (otlp_next(&r, PARTIAL_SUCCESS, &f) > 0) {
		struct wire_reader inner = {f.data, f.data + f.len};

		while (wire_reader_read_field(&inner, &f) > 0)
			if (f.number == REJECTED_PROFILES && f.type == WIRE_VARINT && f.value > 0)
				return false;
	}
	return true;
}
