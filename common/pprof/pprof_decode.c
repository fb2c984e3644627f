/*
 * A pprof file is one protobuf message. A library could unpack it as a whole, but that takes
 * five to ten times the size of the file before the first of our checks could refuse it.
 *
 * So the outermost message is walked by hand, and the small messages in it (a function, a
 * location, a sample) are read one by one. The peak is the inflated bytes plus the result.
 *
 * There is one walk per kind of field, in the order counts, strings, types, comments,
 * functions, locations, samples, because each kind refers to the ones before it and the format
 * allows fields in any order. The first walk notes where the fields of each kind begin and end;
 * the later ones cover only that span.
 *
 * A string is copied into the caller's arena at its first use. Strings that only labels and
 * mappings use are never copied, and the inflated bytes are freed at the end.
 */
#include "common/pprof/pprof_decode.h"

#include <errno.h>

#include "common/data/buf.h"
#include "common/data/gzip.h"
#include "common/limits.h"
#include "common/pprof/pprof_ids.h"
#include "common/pprof/pprof_messages.h"
#include "common/pprof/pprof_wire.h"

/* The largest legitimate message is a deep sample, of 64 KiB. */
#define MESSAGE_MAX_BYTES ((size_t)MIB)

struct string_ref {
	const char *data; /* in the input, or in the arena when copied */
	uint32_t len;
	bool copied;
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
	struct wire_field period_type;
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
}

static int fail(const struct decoder *d, const char *what)
{
	return err_set(d->err, -EBADMSG, "not a valid pprof: %s", what);
}

/* Not zeroed. */
static void *result_alloc(struct decoder *d, size_t n, size_t size, int *ret_error)
{
	void *p = arena_alloc(d->profile.arena, n * size);

	if (!p) {
		*ret_error = arena_error(d->profile.arena, n * size);
		if (*ret_error == -EFBIG)
			err_set(d->err, -EFBIG, "the profile takes more than %zu bytes of memory",
				d->profile.arena->limit_bytes);
	}
	return p;
}

static int check_size(const struct decoder *d, const struct wire_field *f, const char *what)
{
	return f->len <= MESSAGE_MAX_BYTES ? 0 : err_set(d->err, -EFBIG, "%s: too large", what);
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

static int note_string(struct decoder *d, const struct wire_field *f)
{
	if (f->len > LIMIT_PPROF_STRING_BYTES)
		return err_set(d->err, -EFBIG, "string of more than %u bytes",
			       LIMIT_PPROF_STRING_BYTES);
	if (d->n_strings == 0 && f->len > 0)
		return fail(d, "the first string is not empty");
	d->strings[d->n_strings++] = (struct string_ref){
		.data = (const char *)f->data,
		.len = (uint32_t)f->len,
	};
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

static int get_string(struct decoder *d, int64_t index, struct profile_string *ret)
{
	struct string_ref *s;
	char *copy;
	int r;

	if (index < 0 || index >= d->n_strings)
		return err_set(d->err, -EBADMSG, "not a valid pprof: no string %lld",
			       (long long)index);
	s = &d->strings[index];
	if (!s->copied) {
		copy = result_alloc(d, 1, (size_t)s->len + 1, &r);
		if (!copy)
			return r;
		memcpy(copy, s->data, s->len);
		copy[s->len] = '\0';
		s->data = copy;
		s->copied = true;
	}
	*ret = (struct profile_string){s->data, s->len};
	return 0;
}

static int load_value_type(struct decoder *d, const struct wire_field *f,
			   struct profile_value_type *ret)
{
	struct pprof_value_type type;
	int r;

	if (pprof_read_value_type(f->data, f->len, &type) < 0)
		return fail(d, "broken value type");
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
		return get_string(d, (int64_t)f->value, &p->comments[p->n_comments++]);
	reader = (struct wire_reader){f->data, f->data + f->len};
	while ((r = wire_reader_read_varint(&reader, &index)) > 0) {
		r = get_string(d, (int64_t)index, &p->comments[p->n_comments++]);
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

static int load_function(struct decoder *d, const struct wire_field *f)
{
	struct profile_function *ret = &d->profile.functions[d->profile.n_functions++];
	struct pprof_function fn;
	int r;

	if (pprof_read_function(f->data, f->len, &fn) < 0)
		return fail(d, "broken function");
	pprof_ids_add(&d->functions, fn.id);
	ret->start_line = fn.start_line;
	r = get_string(d, fn.name, &ret->name);
	return r < 0 ? r : get_string(d, fn.file, &ret->file);
}

static int load_functions(struct decoder *d)
{
	uint64_t n = d->counts[PPROF_FUNCTION];
	int r;

	r = pprof_ids_init(&d->functions, "function", n);
	if (r < 0)
		return r;
	d->profile.functions = result_alloc(d, n, sizeof(*d->profile.functions), &r);
	if (!d->profile.functions)
		return r;
	r = each(d, PPROF_FUNCTION, load_function);
	return r < 0 ? r : pprof_ids_sort(&d->functions, d->err);
}

static int load_location(struct decoder *d, const struct wire_field *f)
{
	struct profile_location *ret = &d->profile.locations[d->profile.n_locations++];
	UNINITIALIZED struct pprof_line items[LIMIT_PPROF_LINES_PER_LOCATION];
	struct pprof_location l = {.lines = {.items = items, .max = ARRAY_SIZE(items)}};
	struct profile_line *lines = NULL;
	int r = check_size(d, f, "broken location");

	if (r < 0)
		return r;
	if (pprof_read_location(f->data, f->len, &l) < 0)
		return fail(d, "broken location");
	if (l.lines.n > l.lines.max)
		return err_set(d->err, -EFBIG, "location with more than %zu lines", l.lines.max);
	pprof_ids_add(&d->locations, l.id);
	if (l.lines.n > 0)
		lines = result_alloc(d, l.lines.n, sizeof(*lines), &r);
	if (r < 0)
		return r;
	for (size_t i = 0; i < l.lines.n; i++) {
		lines[i].line = items[i].line;
		r = pprof_ids_find(&d->functions, items[i].function_id, &lines[i].function, d->err);
		if (r < 0)
			return r;
	}
	*ret = (struct profile_location){lines, (uint32_t)l.lines.n, l.address};
	return 0;
}

static int load_locations(struct decoder *d)
{
	uint64_t n = d->counts[PPROF_LOCATION];
	int r;

	r = pprof_ids_init(&d->locations, "location", n);
	if (r < 0)
		return r;
	d->profile.locations = result_alloc(d, n, sizeof(*d->profile.locations), &r);
	if (!d->profile.locations)
		return r;
	r = each(d, PPROF_LOCATION, load_location);
	return r < 0 ? r : pprof_ids_sort(&d->locations, d->err);
}

static int fill_sample(struct decoder *d, const struct pprof_sample *from)
{
	struct profile_sample *s = &d->profile.samples[d->profile.n_samples++];
	size_t n = from->location_ids.n, n_values = from->values.n;
	uint32_t *locations;
	int64_t *values;
	int r;

	if (n_values != d->profile.n_types)
		return err_set(d->err, -EBADMSG,
			       "not a valid pprof: sample with %zu values for %u types", n_values,
			       d->profile.n_types);
	if (n > LIMIT_PPROF_STACK_DEPTH)
		return err_set(d->err, -EFBIG, "stack deeper than %u", LIMIT_PPROF_STACK_DEPTH);

	/* one piece of memory for both; the values first, for their alignment */
	values = result_alloc(d, 1, n_values * sizeof(*values) + n * sizeof(*locations), &r);
	if (!values)
		return r;
	memcpy(values, from->values.items, n_values * sizeof(*values));
	locations = (uint32_t *)(values + n_values);
	for (size_t i = 0; i < n; i++) {
		r = pprof_ids_find(&d->locations, from->location_ids.items[i], &locations[i],
				   d->err);
		if (r < 0)
			return r;
	}
	*s = (struct profile_sample){locations, (uint32_t)n, values};
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
	};
	int r = check_size(d, f, "broken sample");

	if (r < 0)
		return r;
	if (pprof_read_sample(f->data, f->len, &sample) < 0)
		return fail(d, "broken sample");
	return fill_sample(d, &sample);
}

static int load_samples(struct decoder *d)
{
	int r;

	d->profile.samples =
		result_alloc(d, d->counts[PPROF_SAMPLE], sizeof(*d->profile.samples), &r);
	return d->profile.samples ? each(d, PPROF_SAMPLE, load_sample) : r;
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

	r = d.len > 0 ? decode(&d) : fail(&d, "empty");
	if (r == 0)
		*ret = d.profile;
	return r;
}
