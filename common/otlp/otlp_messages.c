#include "common/otlp/otlp_messages.h"

#include <errno.h>

/* What a field of a message is on the wire, by its number. */
enum field_kind {
	FIELD_UNKNOWN, /* skipped */
	FIELD_NUMBER,
	FIELD_FIXED,
	FIELD_BYTES,
	FIELD_NUMBERS, /* repeated: packed or not */
	FIELD_FIXEDS,  /* the same of 64-bit numbers */
};

static bool has_type(enum field_kind kind, enum wire_type type)
{
	switch (kind) {
	case FIELD_UNKNOWN:
		return true;
	case FIELD_NUMBER:
		return type == WIRE_VARINT;
	case FIELD_FIXED:
		return type == WIRE_FIXED64;
	case FIELD_BYTES:
		return type == WIRE_BYTES;
	case FIELD_NUMBERS:
		return type == WIRE_VARINT || type == WIRE_BYTES;
	case FIELD_FIXEDS:
		return type == WIRE_FIXED64 || type == WIRE_BYTES;
	}
	return false;
}

/* Returns 1 and the next field, which is of its kind; 0 at the end; or -EBADMSG. */
static int next(struct wire_reader *r, const uint8_t *kinds, size_t n_kinds, struct wire_field *ret)
{
	int e = wire_reader_read_field(r, ret);

	if (e <= 0 || ret->number >= n_kinds)
		return e;
	return has_type(kinds[ret->number], ret->type) ? 1 : -EBADMSG;
}

static uint64_t fixed64(const uint8_t *p)
{
	uint64_t v = 0;

	for (unsigned i = 0; i < 8; i++)
		v |= (uint64_t)p[i] << (8 * i);
	return v;
}

static struct otlp_bytes bytes_of(const struct wire_field *f)
{
	return (struct otlp_bytes){f->data, f->len};
}

/* Of an int32, ten bytes are sent if it is negative; its low half is the number. */
static int32_t int32_of(uint64_t value)
{
	return (int32_t)(uint32_t)value;
}

int otlp_next(struct wire_reader *r, uint32_t max_number, struct wire_field *ret)
{
	int e;

	while ((e = wire_reader_read_field(r, ret)) > 0)
		if (ret->number <= max_number)
			return ret->type == WIRE_BYTES ? 1 : -EBADMSG;
	return e;
}

int otlp_read_value(struct otlp_bytes message, struct otlp_value *ret)
{
	enum { STRING = 1, BOOL, INT, DOUBLE, ARRAY, KVLIST, BYTES, STRINDEX };
	static const uint8_t kinds[] = {
		[STRING] = FIELD_BYTES, [BOOL] = FIELD_NUMBER,     [INT] = FIELD_NUMBER,
		[DOUBLE] = FIELD_FIXED, [ARRAY] = FIELD_BYTES,     [KVLIST] = FIELD_BYTES,
		[BYTES] = FIELD_BYTES,  [STRINDEX] = FIELD_NUMBER,
	};
	static const uint8_t values[] = {
		[STRING] = OTLP_VALUE_STRING, [BOOL] = OTLP_VALUE_BOOL,
		[INT] = OTLP_VALUE_INT,       [DOUBLE] = OTLP_VALUE_DOUBLE,
		[ARRAY] = OTLP_VALUE_ARRAY,   [KVLIST] = OTLP_VALUE_OTHER,
		[BYTES] = OTLP_VALUE_OTHER,   [STRINDEX] = OTLP_VALUE_STRINDEX,
	};
	struct wire_reader r = otlp_reader(message);
	struct wire_field f;
	int e;

	*ret = (struct otlp_value){OTLP_VALUE_NONE};
	while ((e = next(&r, kinds, ARRAY_SIZE(kinds), &f)) > 0) {
		if (f.number >= ARRAY_SIZE(values))
			continue;
		*ret = (struct otlp_value){.kind = values[f.number]};
		if (f.type == WIRE_BYTES) {
			ret->bytes = bytes_of(&f);
		} else if (f.type == WIRE_FIXED64) {
			uint64_t bits = fixed64(f.data);

			memcpy(&ret->real, &bits, sizeof(ret->real));
		} else {
			ret->number = f.number == STRINDEX ? int32_of(f.value) : (int64_t)f.value;
		}
	}
	return e;
}

int otlp_read_key_value(struct otlp_bytes message, struct otlp_attribute *ret)
{
	enum { KEY = 1, VALUE, KEY_STRINDEX };
	static const uint8_t kinds[] = {
		[KEY] = FIELD_BYTES, [VALUE] = FIELD_BYTES, [KEY_STRINDEX] = FIELD_NUMBER};
	struct wire_reader r = otlp_reader(message);
	struct wire_field f;
	int e;

	*ret = (struct otlp_attribute){.key_strindex = 0};
	while ((e = next(&r, kinds, ARRAY_SIZE(kinds), &f)) > 0) {
		if (f.number == KEY)
			ret->key = bytes_of(&f);
		else if (f.number == KEY_STRINDEX)
			ret->key_strindex = int32_of(f.value);
		else if (f.number == VALUE && otlp_read_value(bytes_of(&f), &ret->value) < 0)
			return -EBADMSG;
	}
	return e;
}

int otlp_read_attribute(struct otlp_bytes message, struct otlp_attribute *ret)
{
	enum { KEY = 1, VALUE, UNIT };
	static const uint8_t kinds[] = {
		[KEY] = FIELD_NUMBER, [VALUE] = FIELD_BYTES, [UNIT] = FIELD_NUMBER};
	struct wire_reader r = otlp_reader(message);
	struct wire_field f;
	int e;

	*ret = (struct otlp_attribute){.key_strindex = 0};
	while ((e = next(&r, kinds, ARRAY_SIZE(kinds), &f)) > 0) {
		if (f.number == KEY)
			ret->key_strindex = int32_of(f.value);
		else if (f.number == VALUE && otlp_read_value(bytes_of(&f), &ret->value) < 0)
			return -EBADMSG;
	}
	return e;
}

int otlp_read_mapping(struct otlp_bytes message, struct otlp_mapping *ret)
{
	enum { START = 1, LIMIT, OFFSET, FILENAME, ATTRIBUTES };
	static const uint8_t kinds[] = {
		[START] = FIELD_NUMBER,    [LIMIT] = FIELD_NUMBER,       [OFFSET] = FIELD_NUMBER,
		[FILENAME] = FIELD_NUMBER, [ATTRIBUTES] = FIELD_NUMBERS,
	};
	struct wire_reader r = otlp_reader(message);
	struct wire_field f;
	int e;

	*ret = (struct otlp_mapping){0};
	while ((e = next(&r, kinds, ARRAY_SIZE(kinds), &f)) > 0) {
		if (f.number == START)
			ret->memory_start = f.value;
		else if (f.number == LIMIT)
			ret->memory_limit = f.value;
		else if (f.number == OFFSET)
			ret->file_offset = f.value;
		else if (f.number == FILENAME)
			ret->filename_strindex = int32_of(f.value);
	}
	return e;
}

int otlp_read_function(struct otlp_bytes message, struct otlp_function *ret)
{
	enum { NAME = 1, SYSTEM_NAME, FILENAME, START_LINE };
	static const uint8_t kinds[] = {
		[NAME] = FIELD_NUMBER,
		[SYSTEM_NAME] = FIELD_NUMBER,
		[FILENAME] = FIELD_NUMBER,
		[START_LINE] = FIELD_NUMBER,
	};
	struct wire_reader r = otlp_reader(message);
	struct wire_field f;
	int e;

	*ret = (struct otlp_function){0};
	while ((e = next(&r, kinds, ARRAY_SIZE(kinds), &f)) > 0) {
		if (f.number == NAME)
			ret->name_strindex = int32_of(f.value);
		else if (f.number == SYSTEM_NAME)
			ret->system_name_strindex = int32_of(f.value);
		else if (f.number == FILENAME)
			ret->filename_strindex = int32_of(f.value);
	}
	return e;
}

enum { LOCATION_MAPPING = 1, LOCATION_ADDRESS, LOCATION_LINE, LOCATION_ATTRIBUTE };
static const uint8_t location_kinds[] = {
	[LOCATION_MAPPING] = FIELD_NUMBER,
	[LOCATION_ADDRESS] = FIELD_NUMBER,
	[LOCATION_LINE] = FIELD_BYTES,
	[LOCATION_ATTRIBUTE] = FIELD_NUMBERS,
};

int otlp_read_location(struct otlp_bytes message, struct otlp_location *ret)
{
	struct wire_reader r = otlp_reader(message);
	struct wire_field f;
	int e;

	*ret = (struct otlp_location){0};
	while ((e = next(&r, location_kinds, ARRAY_SIZE(location_kinds), &f)) > 0) {
		if (f.number == LOCATION_MAPPING)
			ret->mapping_index = int32_of(f.value);
		else if (f.number == LOCATION_ADDRESS)
			ret->address = f.value;
		else if (f.number == LOCATION_LINE)
			ret->n_lines++;
	}
	return e;
}

static int read_line(struct otlp_bytes message, struct otlp_line *ret)
{
	enum { FUNCTION = 1, LINE, COLUMN };
	static const uint8_t kinds[] = {
		[FUNCTION] = FIELD_NUMBER, [LINE] = FIELD_NUMBER, [COLUMN] = FIELD_NUMBER};
	struct wire_reader r = otlp_reader(message);
	struct wire_field f;
	int e;

	*ret = (struct otlp_line){0};
	while ((e = next(&r, kinds, ARRAY_SIZE(kinds), &f)) > 0) {
		if (f.number == FUNCTION)
			ret->function_index = int32_of(f.value);
		else if (f.number == LINE)
			ret->line = (int64_t)f.value;
	}
	return e;
}

int otlp_each_line(struct otlp_bytes location, int (*fn)(void *ctx, const struct otlp_line *line),
		   void *ctx)
{
	struct wire_reader r = otlp_reader(location);
	struct otlp_line line;
	struct wire_field f;
	int e;

	while ((e = next(&r, location_kinds, ARRAY_SIZE(location_kinds), &f)) > 0) {
		if (f.number != LOCATION_LINE)
			continue;
		e = read_line(bytes_of(&f), &line);
		if (e == 0)
			e = fn(ctx, &line);
		if (e < 0)
			return e;
	}
	return e;
}

static int read_value_type(struct otlp_bytes message, struct otlp_value_type *ret)
{
	enum { TYPE = 1, UNIT };
	static const uint8_t kinds[] = {[TYPE] = FIELD_NUMBER, [UNIT] = FIELD_NUMBER};
	struct wire_reader r = otlp_reader(message);
	struct wire_field f;
	int e;

	*ret = (struct otlp_value_type){0};
	while ((e = next(&r, kinds, ARRAY_SIZE(kinds), &f)) > 0) {
		if (f.number == TYPE)
			ret->type_strindex = int32_of(f.value);
		else if (f.number == UNIT)
			ret->unit_strindex = int32_of(f.value);
	}
	return e;
}

int otlp_read_profile(struct otlp_bytes message, struct otlp_profile *ret)
{
	enum {
		SAMPLE_TYPE = 1,
		SAMPLES,
		TIME,
		DURATION,
		PERIOD_TYPE,
		PERIOD,
		ID,
		DROPPED,
		FORMAT,
		PAYLOAD,
		ATTRIBUTES
	};
	static const uint8_t kinds[] = {
		[SAMPLE_TYPE] = FIELD_BYTES, [SAMPLES] = FIELD_BYTES,      [TIME] = FIELD_FIXED,
		[DURATION] = FIELD_NUMBER,   [PERIOD_TYPE] = FIELD_BYTES,  [PERIOD] = FIELD_NUMBER,
		[ID] = FIELD_BYTES,          [DROPPED] = FIELD_NUMBER,     [FORMAT] = FIELD_BYTES,
		[PAYLOAD] = FIELD_BYTES,     [ATTRIBUTES] = FIELD_NUMBERS,
	};
	struct wire_reader r = otlp_reader(message);
	struct wire_field f;
	int e, t = 0;

	*ret = (struct otlp_profile){.period = 0};
	while ((e = next(&r, kinds, ARRAY_SIZE(kinds), &f)) > 0 && t == 0) {
		if (f.number == SAMPLE_TYPE)
			t = read_value_type(bytes_of(&f), &ret->sample_type);
		else if (f.number == PERIOD_TYPE)
			t = read_value_type(bytes_of(&f), &ret->period_type);
		else if (f.number == SAMPLES)
			ret->n_samples++;
		else if (f.number == TIME)
			ret->start_ns = fixed64(f.data);
		else if (f.number == DURATION)
			ret->duration_ns = f.value;
		else if (f.number == PERIOD)
			ret->period = (int64_t)f.value;
	}
	return t < 0 ? t : e;
}

static int add_value(void *ctx, uint64_t number)
{
	struct otlp_sample *s = ctx;

	s->n_values++;
	if ((int64_t)number < 0) {
		s->n_negative++;
	} else if (__builtin_add_overflow(s->sum, (int64_t)number, &s->sum)) {
		s->sum = INT64_MAX;
		s->is_clamped = true;
	}
	return 0;
}

static void add_timestamp(struct otlp_sample *s, uint64_t ns)
{
	if (s->n_timestamps == 0 || ns < s->first_ns)
		s->first_ns = ns;
	if (ns > s->last_ns)
		s->last_ns = ns;
	s->n_timestamps++;
}

static int add_timestamps(struct otlp_sample *s, const struct wire_field *f)
{
	if (f->len % 8 != 0) /* a single one has 8 bytes as well */
		return -EBADMSG;
	for (size_t i = 0; i < f->len; i += 8)
		add_timestamp(s, fixed64(f->data + i));
	return 0;
}

static int each_of_field(const struct wire_field *f, int (*fn)(void *ctx, uint64_t number),
			 void *ctx)
{
	struct wire_reader r;
	uint64_t number;
	int e;

	if (f->type == WIRE_VARINT)
		return fn(ctx, f->value);
	if (f->type != WIRE_BYTES)
		return -EBADMSG;
	r = (struct wire_reader){f->data, f->data + f->len};
	while ((e = wire_reader_read_varint(&r, &number)) > 0) {
		e = fn(ctx, number);
		if (e < 0)
			return e;
	}
	return e;
}

int otlp_read_sample(struct otlp_bytes message, struct otlp_sample *ret)
{
	enum { STACK = 1, ATTRIBUTES, LINK, VALUES, TIMESTAMPS };
	static const uint8_t kinds[] = {
		[STACK] = FIELD_NUMBER,   [ATTRIBUTES] = FIELD_NUMBERS, [LINK] = FIELD_NUMBER,
		[VALUES] = FIELD_NUMBERS, [TIMESTAMPS] = FIELD_FIXEDS,
	};
	struct wire_reader r = otlp_reader(message);
	struct wire_field f;
	int e, t = 0;

	*ret = (struct otlp_sample){0};
	while ((e = next(&r, kinds, ARRAY_SIZE(kinds), &f)) > 0 && t == 0) {
		if (f.number == STACK)
			ret->stack_index = int32_of(f.value);
		else if (f.number == VALUES)
			t = each_of_field(&f, add_value, ret);
		else if (f.number == TIMESTAMPS)
			t = add_timestamps(ret, &f);
	}
	return t < 0 ? t : e;
}

int otlp_each_number(struct otlp_bytes message, uint32_t field,
		     int (*fn)(void *ctx, uint64_t number), void *ctx)
{
	struct wire_reader r = otlp_reader(message);
	struct wire_field f;
	int e;

	while ((e = wire_reader_read_field(&r, &f)) > 0) {
		if (f.number != field)
			continue;
		e = each_of_field(&f, fn, ctx);
		if (e < 0)
			return e;
	}
	return e;
}
