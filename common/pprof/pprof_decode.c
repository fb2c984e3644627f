/*
 * A pprof file is one protobuf message. A library could unpack it as a whole, but that takes
 * five to ten times the size of the file before the first of our checks could refuse it.
 *
 * So the outermost message is walked by hand, and the small messages in it (a function, a
 * location, a sample) are read one by one. The peak is the inflated bytes plus the result.
 *
 * Real profiles have odd elements, and one of them is not worth the profile. What refers to
 * nothing is left out, what is too long is cut and has a mark, and both are counted. Locations
 * without a name, which profilers that see only addresses send, get one made of the mapping
 * (code_file.h): their functions are appended to those of the file. Mappings are read when the
 * first such location is met, so that a profile with names pays nothing.
 *
 * There is one walk per kind of field, in the order counts, strings, types, comments,
 * functions, locations, samples, because each kind refers to the ones before it and the format
 * allows fields in any order. The first walk notes where the fields of each kind begin and end;
 * the later ones cover only that span.
 *
 * A string is copied into the caller's arena at its first use. Strings that only labels use are
 * never copied, and the inflated bytes are freed at the end.
 */
#include "common/pprof/pprof_decode.h"

#include <errno.h>

#include "common/data/buf.h"
#include "common/data/gzip.h"
#include "common/limits.h"
#include "common/pprof/code_file.h"
#include "common/pprof/legacy_profile.h"
#include "common/pprof/pprof_ids.h"
#include "common/pprof/pprof_messages.h"
#include "common/pprof/pprof_wire.h"
#include "common/text/utf8.h"

/* A frame that stands for frames that are missing, which receivers count. */
#define TRUNCATED "[truncated]"
#define CUT_MARK "…"
/* The label by which "go tool pprof" marks what it subtracts. */
#define BASE_LABEL "pprof::base"
#define BASE_VALUE "true"

struct string_ref {
	const char *data; /* in the input, or in the arena when copied */
	uint32_t len;     /* of which so many are kept */
	bool copied;
	bool cut;
};

/* A mapping of locations without names. */
struct mapping {
	struct code_file file;
	struct profile_string module; /* the text of its functions' file */
};

struct decoder {
	const uint8_t *data;
	size_t len;
	struct profile profile;
	uint64_t counts[PPROF_FIELD_MAX];
	/* By field number: from the first field to the end of the last one. */
	struct wire_reader spans[PPROF_FIELD_MAX];
	struct string_ref *strings;
	uint32_t n_strings;
	struct pprof_ids functions;
	struct pprof_ids locations;
	struct pprof_ids mapping_ids;
	struct mapping *mappings; /* in the arena; NULL until they are needed */
	uint64_t max_functions;
	bool has_unnamed; /* functions */
	/* 1 + index of "[truncated]"; 0: not made yet */
	uint32_t cut_function;
	uint32_t cut_location;
	/* strings of the label of a difference; 0: there are none */
	int64_t base_label;
	int64_t base_value;
	struct wire_field period_type;
	struct err first_broken; /* why the first sample was left out */
	struct err *err;
};

typedef int (*field_fn)(struct decoder *d, const struct wire_field *f);

static void decoder_init(struct decoder *d, struct arena *arena, struct err *err)
{
	*d = (struct decoder){.profile = {.arena = arena}, .err = err};
}

static void decoder_fini(struct decoder *d)
{
	free(d->strings);
	pprof_ids_fini(&d->functions);
	pprof_ids_fini(&d->locations);
	pprof_ids_fini(&d->mapping_ids);
}

static int fail(const struct decoder *d, const char *what)
{
	return err_set(d->err, -EBADMSG, "not a valid pprof: %s", what);
}

static int too_much_memory(const struct decoder *d)
{
	return err_set(d->err, -EFBIG, "the profile takes more than %zu bytes of memory",
		       d->profile.arena->limit_bytes);
}

/* Not zeroed. */
static void *result_alloc(struct decoder *d, size_t n, size_t size, int *ret_error)
{
	void *p = arena_alloc(d->profile.arena, n * size);

	if (!p) {
		*ret_error = arena_error(d->profile.arena, n * size);
		if (*ret_error == -EFBIG)
			too_much_memory(d);
	}
	return p;
}

static void count(struct decoder *d, enum profile_loss loss)
{
	d->profile.losses.n[loss]++;
}

/* Calls fn for each field with this number, in order. */
static int each(struct decoder *d, enum pprof_field number, field_fn fn)
{
	struct wire_reader reader = d->spans[number];
	struct wire_field f;
	int r;

	while ((r = wire_reader_read_field(&reader, &f)) > 0) {
		if (f.number != number)
			continue;
		r = fn(d, &f);
		if (r < 0)
			return r;
	}
	return r < 0 ? fail(d, "broken field") : 0;
}

static int count_comments(struct decoder *d, const struct wire_field *f)
{
	struct wire_reader reader;
	uint64_t ignored;
	int r;

	if (f->type == WIRE_VARINT) {
		d->counts[PPROF_COMMENT]++;
		return 0;
	}
	reader = (struct wire_reader){f->data, f->data + f->len};
	while ((r = wire_reader_read_varint(&reader, &ignored)) > 0)
		d->counts[PPROF_COMMENT]++;
	return r < 0 ? fail(d, "broken comments") : 0;
}

static int note_field(struct decoder *d, const struct wire_field *f)
{
	static const enum wire_type types[PPROF_FIELD_MAX] = {
		[PPROF_SAMPLE_TYPE] = WIRE_BYTES, [PPROF_SAMPLE] = WIRE_BYTES,
		[PPROF_MAPPING] = WIRE_BYTES,     [PPROF_LOCATION] = WIRE_BYTES,
		[PPROF_FUNCTION] = WIRE_BYTES,    [PPROF_STRING_TABLE] = WIRE_BYTES,
		[PPROF_TIME_NANOS] = WIRE_VARINT, [PPROF_DURATION_NANOS] = WIRE_VARINT,
		[PPROF_PERIOD_TYPE] = WIRE_BYTES, [PPROF_PERIOD] = WIRE_VARINT,
	};

	if (f->number >= PPROF_FIELD_MAX)
		return 0;
	if (f->number == PPROF_COMMENT && (f->type == WIRE_BYTES || f->type == WIRE_VARINT))
		return count_comments(d, f);
	/*
	 * the numbers not in types[] belong to fields that we do not use, all of them varints
	 */
	if (f->type != types[f->number])
		return fail(d, "field of another type");

	d->counts[f->number]++;
	if (f->number == PPROF_TIME_NANOS)
		d->profile.time_ns = (int64_t)f->value;
	else if (f->number == PPROF_DURATION_NANOS)
		d->profile.duration_ns = (int64_t)f->value;
	else if (f->number == PPROF_PERIOD)
		d->profile.period = (int64_t)f->value;
	else if (f->number == PPROF_PERIOD_TYPE)
		d->period_type = *f;
	return 0;
}

static void note_span(struct decoder *d, uint32_t number, const uint8_t *begin, const uint8_t *end)
{
	struct wire_reader *span;

	if (number >= PPROF_FIELD_MAX)
		return;
	span = &d->spans[number];
	if (!span->p)
		span->p = begin;
	span->end = end;
}

static int count_fields(struct decoder *d)
{
	static const struct {
		uint32_t field, max;
		const char *name;
	} limits[] = {
		{PPROF_SAMPLE_TYPE, LIMIT_PPROF_TYPES, "sample types"},
		{PPROF_SAMPLE, LIMIT_PPROF_SAMPLES, "samples"},
		{PPROF_LOCATION, LIMIT_PPROF_LOCATIONS, "locations"},
		{PPROF_FUNCTION, LIMIT_PPROF_FUNCTIONS, "functions"},
		{PPROF_STRING_TABLE, LIMIT_PPROF_STRINGS, "strings"},
		{PPROF_COMMENT, LIMIT_PPROF_STRINGS, "comments"},
	};
	struct wire_reader reader = {d->data, d->data + d->len};
	const uint8_t *begin = reader.p;
	struct wire_field f;
	int r;

	while ((r = wire_reader_read_field(&reader, &f)) > 0) {
		r = note_field(d, &f);
		if (r < 0)
			return r;
		note_span(d, f.number, begin, reader.p);
		begin = reader.p;
	}
	if (r < 0)
		return fail(d, "broken field");
	for (size_t i = 0; i < ARRAY_SIZE(limits); i++) {
		if (d->counts[limits[i].field] > limits[i].max)
			return err_set(d->err, -EFBIG, "more than %u %s", limits[i].max,
				       limits[i].name);
	}
	return d->counts[PPROF_SAMPLE_TYPE] > 0 ? 0 : fail(d, "no sample types");
}

static bool is(const struct wire_field *f, const char *text)
{
	return f->len == strlen(text) && memcmp(f->data, text, f->len) == 0;
}

static int note_string(struct decoder *d, const struct wire_field *f)
{
	struct string_ref s = {.data = (const char *)f->data, .len = (uint32_t)f->len};

	if (d->n_strings == 0 && f->len > 0)
		return fail(d, "the first string is not empty");
	if (f->len > LIMIT_PPROF_STRING_BYTES) {
		s.len = (uint32_t)utf8_cut(s.data, f->len,
					   LIMIT_PPROF_STRING_BYTES - strlen(CUT_MARK));
		s.cut = true;
		count(d, PROFILE_LOSS_CUT_STRINGS);
	}
	if (f->len <= strlen(BASE_LABEL)) {
		if (is(f, BASE_LABEL))
			d->base_label = d->n_strings;
		else if (is(f, BASE_VALUE))
			d->base_value = d->n_strings;
	}
	d->strings[d->n_strings++] = s;
	return 0;
}

static int load_strings(struct decoder *d)
{
	uint64_t n = d->counts[PPROF_STRING_TABLE];

	if (n == 0)
		return fail(d, "no strings");
	d->strings = calloc(n, sizeof(*d->strings));
	if (!d->strings)
		return -ENOMEM;
	return each(d, PPROF_STRING_TABLE, note_string);
}

/* The index exists. */
static int get_string(struct decoder *d, int64_t index, struct profile_string *ret)
{
	struct string_ref *s = &d->strings[index];

	if (!s->copied) {
		size_t mark_len = s->cut ? strlen(CUT_MARK) : 0;
		int r;
		char *copy = result_alloc(d, 1, s->len + mark_len + 1, &r);

		if (!copy)
			return r;
		memcpy(copy, s->data, s->len);
		memcpy(copy + s->len, CUT_MARK, mark_len);
		s->len += (uint32_t)mark_len;
		copy[s->len] = '\0';
		s->data = copy;
		s->copied = true;
	}
	*ret = (struct profile_string){s->data, s->len};
	return 0;
}

static bool has_string(const struct decoder *d, int64_t index)
{
	return index >= 0 && index < d->n_strings;
}

/* A text that is not worth the profile: "" if there is no such string. */
static int get_text(struct decoder *d, int64_t index, struct profile_string *ret)
{
	if (has_string(d, index))
		return get_string(d, index, ret);
	count(d, PROFILE_LOSS_BROKEN_NAMES);
	*ret = (struct profile_string){"", 0};
	return 0;
}

static int load_value_type(struct decoder *d, const struct wire_field *f,
			   struct profile_value_type *ret)
{
	struct pprof_value_type type;
	int r;

	if (pprof_read_value_type(f->data, f->len, &type) < 0)
		return fail(d, "broken value type");
	if (!has_string(d, type.type) || !has_string(d, type.unit))
		return err_set(d->err, -EBADMSG, "not a valid pprof: no string %lld",
			       (long long)(has_string(d, type.type) ? type.unit : type.type));
	r = get_string(d, type.type, &ret->type);
	return r < 0 ? r : get_string(d, type.unit, &ret->unit);
}

static int load_type(struct decoder *d, const struct wire_field *f)
{
	return load_value_type(d, f, &d->profile.types[d->profile.n_types++]);
}

static int load_types(struct decoder *d)
{
	int r;

	d->profile.types =
		result_alloc(d, d->counts[PPROF_SAMPLE_TYPE], sizeof(*d->profile.types), &r);
	if (!d->profile.types)
		return r;
	r = each(d, PPROF_SAMPLE_TYPE, load_type);
	if (r < 0)
		return r;
	/*
	 * a profile without period type has the empty message here, whose strings are number 0
	 */
	return load_value_type(d, &d->period_type, &d->profile.period_type);
}

static int load_comment(struct decoder *d, const struct wire_field *f)
{
	struct profile *p = &d->profile;
	struct wire_reader reader;
	uint64_t index;
	int r;

	if (f->type == WIRE_VARINT)
		return get_text(d, (int64_t)f->value, &p->comments[p->n_comments++]);
	reader = (struct wire_reader){f->data, f->data + f->len};
	while ((r = wire_reader_read_varint(&reader, &index)) > 0) {
		r = get_text(d, (int64_t)index, &p->comments[p->n_comments++]);
		if (r < 0)
			return r;
	}
	return r;
}

static int load_comments(struct decoder *d)
{
	int r;

	d->profile.comments =
		result_alloc(d, d->counts[PPROF_COMMENT], sizeof(*d->profile.comments), &r);
	return d->profile.comments ? each(d, PPROF_COMMENT, load_comment) : r;
}

/* A name of blanks is none. */
static int get_name(struct decoder *d, int64_t index, struct profile_string *ret)
{
	int r = get_text(d, index, ret);

	if (r == 0 && strspn(ret->data, " \t") >= ret->len)
		ret->len = 0;
	return r;
}

/* Elements whose id is not unique are not found. */
static int end_ids(struct pprof_ids *ids)
{
	int r = pprof_ids_end(ids);

	return r < 0 ? r : 0;
}

static int load_function(struct decoder *d, const struct wire_field *f)
{
	struct profile_function *ret = &d->profile.functions[d->profile.n_functions++];
	struct pprof_function fn;
	int r;

	if (pprof_read_function(f->data, f->len, &fn) < 0)
		return fail(d, "broken function");
	pprof_ids_add(&d->functions, fn.id);
	ret->start_line = fn.start_line;
	r = get_name(d, fn.name, &ret->name);
	if (r == 0 && ret->name.len == 0 && fn.system_name != 0)
		r = get_name(d, fn.system_name, &ret->name);
	d->has_unnamed |= ret->name.len == 0;
	return r < 0 ? r : get_text(d, fn.file, &ret->file);
}

static int load_functions(struct decoder *d)
{
	uint64_t n = d->counts[PPROF_FUNCTION];
	int r;

	r = pprof_ids_init(&d->functions, n);
	if (r < 0)
		return r;
	d->profile.functions = result_alloc(d, n, sizeof(*d->profile.functions), &r);
	if (!d->profile.functions)
		return r;
	d->max_functions = n;
	r = each(d, PPROF_FUNCTION, load_function);
	return r < 0 ? r : end_ids(&d->functions);
}

/* ---- names for what has none ---- */

/* A function that the file does not have. */
static int add_function(struct decoder *d, const struct profile_function *fn, uint32_t *ret)
{
	struct profile *p = &d->profile;
	struct profile_function *more;
	uint64_t max;
	int r;

	if (p->n_functions == d->max_functions) {
		max = 2 * d->max_functions + 64;
		more = result_alloc(d, max, sizeof(*more), &r);
		if (!more)
			return r;
		if (p->n_functions > 0)
			memcpy(more, p->functions, p->n_functions * sizeof(*more));
		p->functions = more;
		d->max_functions = max;
	}
	p->functions[p->n_functions] = *fn;
	*ret = p->n_functions++;
	return 0;
}

static int cut_function(struct decoder *d, uint32_t *ret)
{
	static const struct profile_function fn = {
		.name = {TRUNCATED, sizeof(TRUNCATED) - 1},
		.file = {"", 0},
	};
	int r = 0;

	if (d->cut_function == 0) {
		r = add_function(d, &fn, ret);
		if (r == 0)
			d->cut_function = *ret + 1;
	}
	*ret = d->cut_function - 1;
	return r;
}

/* Why code_file.h returned no text. */
static int text_error(struct decoder *d)
{
	int r = arena_error(d->profile.arena, CODE_FILE_TEXT_BYTES);

	return r == -EFBIG ? too_much_memory(d) : r;
}

/* One that cannot be read is not found by its locations, which are then named by their address. */
static int load_mapping(struct decoder *d, const struct wire_field *f)
{
	struct mapping *ret = &d->mappings[d->mapping_ids.n];
	struct pprof_mapping m;
	int r;

	if (d->mapping_ids.n == LIMIT_PPROF_MAPPINGS || pprof_read_mapping(f->data, f->len, &m) < 0)
		return 0;
	*ret = (struct mapping){.file = {.memory_start = m.start, .offset = m.offset}};
	r = get_text(d, m.file, &ret->file.path);
	if (r == 0)
		r = get_text(d, m.build_id, &ret->file.build_id);
	if (r < 0)
		return r;
	ret->module = code_file_module(&ret->file, true, d->profile.arena);
	pprof_ids_add(&d->mapping_ids, m.id);
	return ret->module.data ? 0 : text_error(d);
}

static int load_mappings(struct decoder *d)
{
	uint64_t n = d->counts[PPROF_MAPPING];
	int r;

	if (n > LIMIT_PPROF_MAPPINGS)
		n = LIMIT_PPROF_MAPPINGS;
	r = pprof_ids_init(&d->mapping_ids, n);
	if (r < 0)
		return r;
	d->mappings = result_alloc(d, n + 1, sizeof(*d->mappings), &r);
	if (!d->mappings)
		return r;
	r = each(d, PPROF_MAPPING, load_mapping);
	return r < 0 ? r : end_ids(&d->mapping_ids);
}

/* A function for code at the location's address. from is the one without a name, or NULL. */
static int name_code(struct decoder *d, const struct pprof_location *l,
		     const struct profile_function *from, uint32_t *ret)
{
	static const struct mapping nowhere = {
		.file = {.path = {"", 0}, .build_id = {"", 0}},
		.module = {"", 0},
	};
	const struct mapping *m = &nowhere;
	struct profile_function fn;
	uint32_t index;
	int r = d->mappings ? 0 : load_mappings(d);

	if (r < 0)
		return r;
	if (pprof_ids_find(&d->mapping_ids, l->mapping_id, &index))
		m = &d->mappings[index];
	fn = (struct profile_function){
		.name = code_file_frame(&m->file, l->address, d->profile.arena),
		.file = m->module,
	};
	if (!fn.name.data)
		return text_error(d);
	if (from && from->file.len > 0) {
		fn.file = from->file;
		fn.start_line = from->start_line;
	}
	return add_function(d, &fn, ret);
}

/* ---- locations ---- */

static int load_line(struct decoder *d, const struct pprof_location *l,
		     const struct pprof_line *from, struct profile_line *ret)
{
	const struct profile_function *unnamed;

	ret->line = from->line;
	if (!pprof_ids_find(&d->functions, from->function_id, &ret->function)) {
		if (from->function_id != 0)
			count(d, PROFILE_LOSS_BROKEN_NAMES);
		return name_code(d, l, NULL, &ret->function);
	}
	if (!d->has_unnamed)
		return 0;
	unnamed = &d->profile.functions[ret->function];
	return unnamed->name.len > 0 ? 0 : name_code(d, l, unnamed, &ret->function);
}

static int load_location(struct decoder *d, const struct wire_field *f)
{
	struct profile_location *ret = &d->profile.locations[d->profile.n_locations++];
	UNINITIALIZED struct pprof_line items[LIMIT_PPROF_LINES_PER_LOCATION];
	struct pprof_location l = {.lines = {.items = items, .max = ARRAY_SIZE(items)}};
	struct profile_line *lines;
	bool is_cut;
	size_t n;
	int r = 0;

	if (pprof_read_location(f->data, f->len, &l) < 0)
		return fail(d, "broken location");
	pprof_ids_add(&d->locations, l.id);
	is_cut = l.lines.n > l.lines.max;
	if (l.lines.n == 0)
		items[l.lines.n++] = (struct pprof_line){.function_id = 0};
	n = is_cut ? l.lines.max : l.lines.n;
	lines = result_alloc(d, n, sizeof(*lines), &r);
	if (!lines)
		return r;
	for (size_t i = 0; i < n && r == 0; i++)
		r = load_line(d, &l, &items[i], &lines[i]);
	if (r == 0 && is_cut) {
		count(d, PROFILE_LOSS_CUT_LOCATIONS);
		lines[n - 1].line = 0;
		r = cut_function(d, &lines[n - 1].function);
	}
	*ret = (struct profile_location){lines, (uint32_t)n, l.address};
	return r;
}

static int load_locations(struct decoder *d)
{
	uint64_t n = d->counts[PPROF_LOCATION];
	int r;

	r = pprof_ids_init(&d->locations, n);
	if (r < 0)
		return r;
	/* one more for cut_location() */
	d->profile.locations = result_alloc(d, n + 1, sizeof(*d->profile.locations), &r);
	if (!d->profile.locations)
		return r;
	r = each(d, PPROF_LOCATION, load_location);
	return r < 0 ? r : end_ids(&d->locations);
}

static int cut_location(struct decoder *d, uint32_t *ret)
{
	struct profile *p = &d->profile;
	struct profile_line *line;
	int r = 0;

	if (d->cut_location == 0) {
		line = result_alloc(d, 1, sizeof(*line), &r);
		if (!line)
			return r;
		line->line = 0;
		r = cut_function(d, &line->function);
		p->locations[p->n_locations] = (struct profile_location){line, 1, 0};
		d->cut_location = ++p->n_locations;
	}
	*ret = d->cut_location - 1;
	return r;
}

/* ---- samples ---- */

/* Leaves the sample out. */
static int break_sample(struct decoder *d, const char *what, uint64_t number)
{
	if (d->profile.losses.n[PROFILE_LOSS_BROKEN_SAMPLES] == 0)
		err_set(&d->first_broken, 0, "not a valid pprof: %s %llu", what,
			(unsigned long long)number);
	count(d, PROFILE_LOSS_BROKEN_SAMPLES);
	return 0;
}

static void copy_values(struct decoder *d, const struct pprof_numbers *from, int64_t *to)
{
	for (size_t i = 0; i < from->n; i++) {
		to[i] = (int64_t)from->items[i];
		if (to[i] < 0) {
			to[i] = 0;
			count(d, PROFILE_LOSS_NEGATIVE_VALUES);
		}
	}
}

/* Returns how many of the n ids were found before one that was not. */
static size_t find_locations(const struct decoder *d, const uint64_t *ids, size_t n, uint32_t *ret)
{
	/* a copy, as the compiler knows that writing to ret does not change it */
	const struct pprof_ids known = d->locations;
	size_t i = 0;

	while (i < n && pprof_ids_find(&known, ids[i], &ret[i]))
		i++;
	return i;
}

static int fill_sample(struct decoder *d, const struct pprof_sample *from)
{
	const uint64_t *ids = from->location_ids.items;
	size_t n = from->location_ids.n, n_values = from->values.n, n_found;
	bool is_cut = n > LIMIT_PPROF_STACK_DEPTH;
	uint32_t *locations;
	int64_t *values;
	int r;

	if (from->has_label)
		return err_set(
			d->err, -EBADMSG,
			"the profile is a difference of two (samples have the label " BASE_LABEL
			"); send the two profiles themselves");
	if (n_values != d->profile.n_types)
		return break_sample(d, "number of values of a sample:", n_values);
	if (is_cut)
		n = LIMIT_PPROF_STACK_DEPTH;

	/* one piece of memory for both; the values first, for their alignment */
	values = result_alloc(d, 1, n_values * sizeof(*values) + n * sizeof(*locations), &r);
	if (!values)
		return r;
	locations = (uint32_t *)(values + n_values);
	n_found = find_locations(d, ids, n - is_cut, locations);
	if (n_found < n - is_cut)
		return break_sample(d, "no location of id", ids[n_found]);
	if (is_cut) {
		count(d, PROFILE_LOSS_CUT_STACKS);
		r = cut_location(d, &locations[n - 1]);
		if (r < 0)
			return r;
	}
	copy_values(d, &from->values, values);
	d->profile.samples[d->profile.n_samples++] =
		(struct profile_sample){locations, (uint32_t)n, values};
	return 0;
}

static int load_sample(struct decoder *d, const struct wire_field *f)
{
	/* decoding took 1.4 to 1.8 times as long with these filled (ingest_cost) */
	UNINITIALIZED uint64_t ids[LIMIT_PPROF_STACK_DEPTH];
	uint64_t values[LIMIT_PPROF_TYPES];
	struct pprof_sample sample = {
		.location_ids = {.items = ids, .max = ARRAY_SIZE(ids)},
		.values = {.items = values, .max = ARRAY_SIZE(values)},
		.label_key = d->base_value ? d->base_label : 0,
		.label_value = d->base_value,
	};

	if (pprof_read_sample(f->data, f->len, &sample) < 0)
		return fail(d, "broken sample");
	return fill_sample(d, &sample);
}

static int load_samples(struct decoder *d)
{
	int r;

	d->profile.samples =
		result_alloc(d, d->counts[PPROF_SAMPLE], sizeof(*d->profile.samples), &r);
	if (!d->profile.samples)
		return r;
	r = each(d, PPROF_SAMPLE, load_sample);
	if (r == 0 && d->profile.n_samples == 0 && d->counts[PPROF_SAMPLE] > 0)
		return err_set(d->err, -EBADMSG, "%s", d->first_broken.msg);
	return r;
}

static int decode(struct decoder *d)
{
	static int (*const steps[])(struct decoder *) = {
		count_fields,   load_strings,   load_types,   load_comments,
		load_functions, load_locations, load_samples,
	};
	int r = 0;

	for (size_t i = 0; i < ARRAY_SIZE(steps) && r == 0; i++)
		r = steps[i](d);
	return r;
}

int pprof_decode(struct profile *ret, struct arena *arena, const void *data, size_t len,
		 struct err *err)
{
	CLEANUP(decoder_fini) struct decoder d;
	CLEANUP(buf_fini) struct buf inflated;
	int r;

	decoder_init(&d, arena, err);
	buf_init(&inflated, LIMIT_UPLOAD_INFLATED_BYTES);

	d.data = data;
	d.len = len;
	if (gzip_detect(data, len)) {
		r = gzip_inflate(data, len, &inflated);
		if (r == -EFBIG)
			return err_set(err, r, "the profile inflates to more than %llu bytes",
				       (unsigned long long)LIMIT_UPLOAD_INFLATED_BYTES);
		if (r == -EBADMSG)
			return err_set(err, r, "not valid gzip");
		if (r < 0)
			return r;
		d.data = (const uint8_t *)inflated.data;
		d.len = inflated.len;
	}

	if (legacy_profile_detect(d.data, d.len))
		return legacy_profile_decode(ret, arena, d.data, d.len, err);
	r = d.len > 0 ? decode(&d) : fail(&d, "empty");
	if (r == 0)
		*ret = d.profile;
	return r;
}
