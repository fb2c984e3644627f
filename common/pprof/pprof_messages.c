#include "common/pprof/pprof_messages.h"

#include <errno.h>

#include "common/pprof/pprof_wire.h"

/*
 * Reads the next field. Returns 1, 0 at the end, or -EBADMSG: also if one of the fields up to
 * max_number, of which all but those in the set bytes are plain numbers, has another type.
 */
static int next_field(struct wire_reader *r, uint32_t max_number, uint32_t bytes,
		      struct wire_field *ret)
{
	int e = wire_reader_read_field(r, ret);
	enum wire_type expected;

	if (e <= 0 || ret->number > max_number)
		return e;
	expected = bytes >> ret->number & 1 ? WIRE_BYTES : WIRE_VARINT;
	return ret->type == expected ? 1 : -EBADMSG;
}

#define BYTES(number) (UINT32_C(1) << (number))

int pprof_read_value_type(const uint8_t *data, size_t len, struct pprof_value_type *ret)
{
	enum { TYPE = 1, UNIT, MAX = UNIT };
	struct wire_reader r = {data, data + len};
	struct wire_field f;
	int e;

	*ret = (struct pprof_value_type){0};
	while ((e = next_field(&r, MAX, 0, &f)) > 0) {
		if (f.number == TYPE)
			ret->type = (int64_t)f.value;
		else if (f.number == UNIT)
			ret->unit = (int64_t)f.value;
	}
	return e;
}

int pprof_read_mapping(const uint8_t *data, size_t len, struct pprof_mapping *ret)
{
	enum { ID = 1, START, LIMIT, OFFSET, FILENAME, BUILD_ID, MAX = 10 };
	struct wire_reader r = {data, data + len};
	struct wire_field f;
	int e;

	*ret = (struct pprof_mapping){0};
	while ((e = next_field(&r, MAX, 0, &f)) > 0) {
		if (f.number == ID)
			ret->id = f.value;
		else if (f.number == START)
			ret->start = f.value;
		else if (f.number == LIMIT)
			ret->limit = f.value;
		else if (f.number == OFFSET)
			ret->offset = f.value;
		else if (f.number == FILENAME)
			ret->file = (int64_t)f.value;
		else if (f.number == BUILD_ID)
			ret->build_id = (int64_t)f.value;
	}
	return e;
}

int pprof_read_function(const uint8_t *data, size_t len, struct pprof_function *ret)
{
	enum { ID = 1, NAME, SYSTEM_NAME, FILENAME, START_LINE, MAX = START_LINE };
	struct wire_reader r = {data, data + len};
	struct wire_field f;
	int e;

	*ret = (struct pprof_function){0};
	while ((e = next_field(&r, MAX, 0, &f)) > 0) {
		if (f.number == ID)
			ret->id = f.value;
		else if (f.number == NAME)
			ret->name = (int64_t)f.value;
		else if (f.number == SYSTEM_NAME)
			ret->system_name = (int64_t)f.value;
		else if (f.number == FILENAME)
			ret->file = (int64_t)f.value;
		else if (f.number == START_LINE)
			ret->start_line = (int64_t)f.value;
	}
	return e;
}

static int read_line(const struct wire_field *message, struct pprof_lines *lines)
{
	enum { FUNCTION_ID = 1, LINE, MAX = LINE };
	struct wire_reader r = {message->data, message->data + message->len};
	struct pprof_line line = {0};
	struct wire_field f;
	int e;

	while ((e = next_field(&r, MAX, 0, &f)) > 0) {
		if (f.number == FUNCTION_ID)
			line.function_id = f.value;
		else if (f.number == LINE)
			line.line = (int64_t)f.value;
	}
	if (e == 0 && lines->n < lines->max)
		lines->items[lines->n] = line;
	lines->n++;
	return e;
}

int pprof_read_location(const uint8_t *data, size_t len, struct pprof_location *ret)
{
	enum { ID = 1, MAPPING_ID, ADDRESS, LINE, IS_FOLDED, MAX = IS_FOLDED };
	struct wire_reader r = {data, data + len};
	struct wire_field f;
	int e;

	ret->id = 0;
	ret->mapping_id = 0;
	ret->address = 0;
	ret->lines.n = 0;
	while ((e = next_field(&r, MAX, BYTES(LINE), &f)) > 0) {
		if (f.number == ID)
			ret->id = f.value;
		else if (f.number == MAPPING_ID)
			ret->mapping_id = f.value;
		else if (f.number == ADDRESS)
			ret->address = f.value;
		else if (f.number == LINE && read_line(&f, &ret->lines) < 0)
			return -EBADMSG;
	}
	return e;
}

static void add_number(struct pprof_numbers *numbers, uint64_t value)
{
	if (numbers->n < numbers->max)
		numbers->items[numbers->n] = value;
	numbers->n++;
}

/* Numbers may come as one field of bytes with all of them, or as one field each. */
static int add_numbers(struct pprof_numbers *numbers, const struct wire_field *f)
{
	struct wire_reader r;
	uint64_t value;
	int e;

	if (f->type == WIRE_VARINT) {
		add_number(numbers, f->value);
		return 0;
	}
	if (f->type != WIRE_BYTES)
		return -EBADMSG;
	r = (struct wire_reader){f->data, f->data + f->len};
	while ((e = wire_reader_read_varint(&r, &value)) > 0)
		add_number(numbers, value);
	return e;
}

/*
 * Labels are not used, except for the one that the caller looks for; but a broken one means that
 * the sender's bytes are not what it meant.
 */
static int read_label(const struct wire_field *message, struct pprof_sample *sample)
{
	enum { KEY = 1, STR, NUM, NUM_UNIT, MAX = NUM_UNIT };
	int64_t key = 0, value = 0;
	struct wire_reader r;
	struct wire_field f;
	int e;

	if (message->type != WIRE_BYTES)
		return -EBADMSG;
	r = (struct wire_reader){message->data, message->data + message->len};
	while ((e = next_field(&r, MAX, 0, &f)) > 0) {
		if (f.number == KEY)
			key = (int64_t)f.value;
		else if (f.number == STR)
			value = (int64_t)f.value;
	}
	if (key != 0 && key == sample->label_key && value == sample->label_value)
		sample->has_label = true;
	return e;
}

int pprof_read_sample(const uint8_t *data, size_t len, struct pprof_sample *ret)
{
	enum { LOCATION_ID = 1, VALUE, LABEL };
	struct wire_reader r = {data, data + len};
	struct wire_field f;
	int e;

	ret->location_ids.n = 0;
	ret->values.n = 0;
	ret->has_label = false;
	while ((e = wire_reader_read_field(&r, &f)) > 0) {
		if (f.number == LOCATION_ID)
			e = add_numbers(&ret->location_ids, &f);
		else if (f.number == VALUE)
			e = add_numbers(&ret->values, &f);
		else if (f.number == LABEL)
			e = read_label(&f, ret);
		if (e < 0)
			return e;
	}
	return e;
}
