/*
 * pprof is a protobuf message whose fields may come in any order, and gzip allows a file of
 * several members, one after the other. Together they allow a profile to be written as a
 * stream: fields are appended to a buffer, and whenever it has PIECE_BYTES it is compressed as
 * one more member and emptied. Memory is bounded by one piece, the compressed output and the
 * strings, which are written last because only then all are known.
 *
 * protobuf-c would need every message as a struct first. Samples and locations come by the
 * hundred thousand, so they are encoded by hand, straight into the buffer.
 */
#include "common/pprof/pprof_writer.h"

#include <assert.h>
#include <errno.h>

#include "common/data/gzip.h"
#include "common/data/intern.h"
#include "common/limits.h"
#include "common/pprof/pprof_wire.h"

/* Every piece becomes a gzip member. Compared to a single member this costs 2 % more bytes. */
#define PIECE_BYTES ((size_t)256 * 1024)

/*
 * The mapping of locations that are in no file. Its three flags keep "go tool pprof" from searching
 * for a binary to symbolize.
 */
#define MAPPING_ID 1

#define HEAD_MAX_BYTES (2 * PPROF_PACKED_MAX_BYTES)
#define NUMBER_MAX_BYTES (2 * PPROF_PACKED_MAX_BYTES)

struct pprof_writer {
	struct wire_writer w; /* into raw */
	struct buf raw;       /* the piece being written, not compressed yet */
	struct intern *strings;
	enum pprof_level level;
	struct buf *out; /* borrowed */
	size_t out_before;
	size_t n_flushed; /* bytes of pieces before raw */
	uint32_t n_locations, n_functions;
	bool finished;
};

int pprof_writer_new(struct pprof_writer **ret, enum pprof_level level, struct buf *out)
{
	CLEANUP(pprof_writer_freep) struct pprof_writer *w = calloc(1, sizeof(*w));
	int r;

	if (!w)
		return -ENOMEM;
	buf_init(&w->raw, LIMIT_UPLOAD_INFLATED_BYTES);
	w->w.out = &w->raw;
	w->level = level;
	w->out = out;
	w->out_before = out->len;
	r = intern_new(&w->strings, LIMIT_UPLOAD_INFLATED_BYTES);
	if (r < 0)
		return r;
	*ret = TAKE_PTR(w);
	return 0;
}

void pprof_writer_free(struct pprof_writer *w)
{
	if (!w)
		return;
	if (!w->finished && w->out->data) {
		w->out->len = w->out_before;
		w->out->data[w->out->len] = '\0';
	}
	buf_fini(&w->raw);
	intern_free(w->strings);
	free(w);
}

size_t pprof_writer_raw_bytes(const struct pprof_writer *w)
{
	return w->n_flushed + w->raw.len;
}

/* Compresses raw as one more member of out, and empties it. */
static void flush(struct pprof_writer *w)
{
	if (w->w.error < 0)
		return;
	w->n_flushed += w->raw.len;
	w->w.error = w->n_flushed > LIMIT_UPLOAD_INFLATED_BYTES
			     ? -EFBIG
			     : gzip_deflate(w->raw.data, w->raw.len, (int)w->level, w->out);
	w->raw.len = 0;
}

static void flush_if_full(struct pprof_writer *w)
{
	if (w->raw.len >= PIECE_BYTES)
		flush(w);
}

/* Writes nothing if value is 0, the default. */
static size_t pack_number(uint8_t *to, uint32_t field, uint64_t value)
{
	size_t n;

	if (value == 0)
		return 0;
	n = pprof_pack(to, (uint64_t)field << 3 | WIRE_VARINT);
	return n + pprof_pack(to + n, value);
}

/* Writes tag and length of a field of len bytes. */
static size_t pack_head(uint8_t *to, uint32_t field, size_t len)
{
	size_t n = pprof_pack(to, (uint64_t)field << 3 | WIRE_BYTES);

	return n + pprof_pack(to + n, len);
}

/* Room for a message of at most len bytes, to be written in place; NULL after a failure. */
static uint8_t *reserve(struct pprof_writer *w, size_t len)
{
	if (w->w.error == 0)
		w->w.error = buf_reserve(&w->raw, len);
	return w->w.error == 0 ? (uint8_t *)w->raw.data + w->raw.len : NULL;
}

static void advance(struct pprof_writer *w, size_t len)
{
	w->raw.len += len;
	w->raw.data[w->raw.len] = '\0';
	flush_if_full(w);
}

static void put_raw(struct pprof_writer *w, const uint8_t *data, size_t len)
{
	if (w->w.error == 0)
		w->w.error = buf_add(&w->raw, data, len);
}

static void put_small(struct pprof_writer *w, uint32_t field, const uint8_t *message, size_t len)
{
	uint8_t *to = reserve(w, len + HEAD_MAX_BYTES);
	size_t n;

	if (!to)
		return;
	n = pack_head(to, field, len);
	memcpy(to + n, message, len);
	advance(w, n + len);
}

static uint32_t intern_string(struct pprof_writer *w, const struct profile_string *s)
{
	uint32_t id = 0;

	if (w->w.error == 0)
		w->w.error = intern_add(w->strings, s->data, s->len, &id);
	return id;
}

static void put_value_type(struct pprof_writer *w, uint32_t field,
			   const struct profile_value_type *t)
{
	uint32_t type = intern_string(w, &t->type), unit = intern_string(w, &t->unit);
	uint8_t message[2 * NUMBER_MAX_BYTES];
	size_t len = pack_number(message, 1, type);

	len += pack_number(message + len, 2, unit);
	put_small(w, field, message, len);
}

void pprof_writer_put_type(struct pprof_writer *w, const struct profile_value_type *t)
{
	put_value_type(w, PPROF_SAMPLE_TYPE, t);
}

/* ---- samples ---- */

enum { SAMPLE_LOCATIONS = 1, SAMPLE_VALUES = 2, SAMPLE_LABEL = 3 };

static size_t sample_len(size_t locations_len, size_t values_len)
{
	return 2 + wire_varint_len(locations_len) + locations_len + wire_varint_len(values_len) +
	       values_len;
}

/* The label by which "go tool pprof" knows samples of the base of a difference. */
static size_t pack_base_label(struct pprof_writer *w, uint8_t *to)
{
	static const struct profile_string key = {"pprof::base", 11}, value = {"true", 4};
	enum { KEY = 1, STR = 2 };
	uint8_t message[2 * NUMBER_MAX_BYTES];
	size_t len = pack_number(message, KEY, intern_string(w, &key)), n;

	len += pack_number(message + len, STR, intern_string(w, &value));
	n = pack_head(to, SAMPLE_LABEL, len);
	memcpy(to + n, message, len);
	return n + len;
}

void pprof_writer_put_sample(struct pprof_writer *w, const struct profile_sample *s,
			     uint32_t n_values)
{
	uint8_t label[HEAD_MAX_BYTES + 2 * NUMBER_MAX_BYTES];
	size_t label_len = s->is_base ? pack_base_label(w, label) : 0;
	size_t locations_len = 0, values_len = 0;

	for (uint32_t i = 0; i < s->n_locations; i++)
		locations_len += wire_varint_len((uint64_t)s->locations[i] + 1);
	for (uint32_t i = 0; i < n_values; i++)
		values_len += wire_varint_len((uint64_t)s->values[i]);
	wire_writer_put_head(&w->w, PPROF_SAMPLE,
			     sample_len(locations_len, values_len) + label_len);
	wire_writer_put_head(&w->w, SAMPLE_LOCATIONS, locations_len);
	for (uint32_t i = 0; i < s->n_locations; i++)
		wire_writer_put_varint(&w->w, (uint64_t)s->locations[i] + 1);
	wire_writer_put_head(&w->w, SAMPLE_VALUES, values_len);
	for (uint32_t i = 0; i < n_values; i++)
		wire_writer_put_varint(&w->w, (uint64_t)s->values[i]);
	put_raw(w, label, label_len);
	flush_if_full(w);
}

void pprof_writer_put_packed_sample(struct pprof_writer *w, const struct pprof_packed_sample *s)
{
	uint8_t *to = reserve(w, s->locations_len + s->values_len + 3 * HEAD_MAX_BYTES);
	size_t n;

	if (!to)
		return;
	n = pack_head(to, PPROF_SAMPLE, sample_len(s->locations_len, s->values_len));
	n += pack_head(to + n, SAMPLE_LOCATIONS, s->locations_len);
	memcpy(to + n, s->locations, s->locations_len);
	n += s->locations_len;
	n += pack_head(to + n, SAMPLE_VALUES, s->values_len);
	memcpy(to + n, s->values, s->values_len);
	advance(w, n + s->values_len);
}

/* ---- locations, functions, comments ---- */

enum mapping_field {
	ID = 1,
	MEMORY_START = 2,
	MEMORY_LIMIT = 3,
	FILE_OFFSET = 4,
	FILENAME = 5,
	BUILD_ID = 6,
	HAS_FUNCTIONS = 7,
	HAS_FILENAMES = 8,
	HAS_LINE_NUMBERS = 9,
	HAS_INLINE_FRAMES = 10,
};

void pprof_writer_put_mapping(struct pprof_writer *w, uint32_t number,
			      const struct profile_mapping *m)
{
	const uint64_t numbers[][2] = {
		{ID, MAPPING_ID + 1 + (uint64_t)number},
		{MEMORY_START, m->start},
		{MEMORY_LIMIT, m->end},
		{FILE_OFFSET, m->offset},
		{FILENAME, intern_string(w, &m->file)},
		{BUILD_ID, intern_string(w, &m->build_id)},
		{HAS_FUNCTIONS, m->has_functions},
		{HAS_FILENAMES, m->has_functions && m->has_lines},
		{HAS_LINE_NUMBERS, m->has_functions && m->has_lines},
		{HAS_INLINE_FRAMES, m->has_functions && m->has_inlined},
	};
	uint8_t message[ARRAY_SIZE(numbers) * NUMBER_MAX_BYTES];
	size_t len = 0;

	for (size_t i = 0; i < ARRAY_SIZE(numbers); i++)
		len += pack_number(message + len, (uint32_t)numbers[i][0], numbers[i][1]);
	put_small(w, PPROF_MAPPING, message, len);
}

static void put_no_mapping(struct pprof_writer *w)
{
	uint8_t message[4 * NUMBER_MAX_BYTES];
	size_t len = pack_number(message, ID, MAPPING_ID);

	len += pack_number(message + len, HAS_FUNCTIONS, true);
	len += pack_number(message + len, HAS_FILENAMES, true);
	len += pack_number(message + len, HAS_LINE_NUMBERS, true);
	put_small(w, PPROF_MAPPING, message, len);
}

static size_t pack_line(uint8_t *to, const struct profile_line *l)
{
	enum { LINE = 4, LINE_FUNCTION = 1, LINE_LINE = 2 };
	uint8_t message[2 * NUMBER_MAX_BYTES];
	size_t len, n;

	len = pack_number(message, LINE_FUNCTION, (uint64_t)l->function + 1);
	len += pack_number(message + len, LINE_LINE, (uint64_t)l->line);
	n = pack_head(to, LINE, len);
	memcpy(to + n, message, len);
	return n + len;
}

void pprof_writer_put_location(struct pprof_writer *w, const struct profile_location *l)
{
	enum { LOCATION_ID = 1, MAPPING = 2, ADDRESS = 3 };
	uint8_t message[3 * NUMBER_MAX_BYTES];
	uint8_t line[HEAD_MAX_BYTES + 2 * NUMBER_MAX_BYTES];
	size_t len = 0, lines_len = 0;

	len += pack_number(message, LOCATION_ID, ++w->n_locations);
	len += pack_number(message + len, MAPPING, MAPPING_ID + (uint64_t)l->mapping);
	len += pack_number(message + len, ADDRESS, l->address);
	for (uint32_t i = 0; i < l->n_lines; i++)
		lines_len += pack_line(line, &l->lines[i]);
	wire_writer_put_head(&w->w, PPROF_LOCATION, len + lines_len);
	put_raw(w, message, len);
	for (uint32_t i = 0; i < l->n_lines; i++)
		put_raw(w, line, pack_line(line, &l->lines[i]));
	flush_if_full(w);
}

void pprof_writer_put_function(struct pprof_writer *w, const struct profile_function *f)
{
	enum { FUNCTION_ID = 1, NAME = 2, FILE_NAME = 4, START_LINE = 5 };
	uint32_t name = intern_string(w, &f->name), file = intern_string(w, &f->file);
	uint8_t message[4 * NUMBER_MAX_BYTES];
	size_t len = 0;

	/*
	 * No system_name: if it equals the name, pprof takes the name for a mangled one and cuts
	 * "<module>" of Python and type parameters of Rust and C++ out of it.
	 */
	len += pack_number(message, FUNCTION_ID, ++w->n_functions);
	len += pack_number(message + len, NAME, name);
	len += pack_number(message + len, FILE_NAME, file);
	len += pack_number(message + len, START_LINE, (uint64_t)f->start_line);
	put_small(w, PPROF_FUNCTION, message, len);
}

/* A packed field may be split: each comment is a field with one element. */
void pprof_writer_put_comment(struct pprof_writer *w, const struct profile_string *s)
{
	uint8_t message[PPROF_PACKED_MAX_BYTES];

	put_small(w, PPROF_COMMENT, message, pprof_pack(message, intern_string(w, s)));
}

/* Comes last, when all strings are known. */
static void put_strings(struct pprof_writer *w)
{
	for (uint32_t id = 0; id < intern_count(w->strings); id++) {
		size_t len;
		const char *s = intern_get(w->strings, id, &len);

		wire_writer_put_bytes(&w->w, PPROF_STRING_TABLE, s, len);
		flush_if_full(w);
	}
}

int pprof_writer_finish(struct pprof_writer *w, const struct pprof_times *times)
{
	put_no_mapping(w);
	wire_writer_put_number(&w->w, PPROF_TIME_NANOS, (uint64_t)times->time_ns);
	wire_writer_put_number(&w->w, PPROF_DURATION_NANOS, (uint64_t)times->duration_ns);
	put_value_type(w, PPROF_PERIOD_TYPE, times->period_type);
	wire_writer_put_number(&w->w, PPROF_PERIOD, (uint64_t)times->period);
	put_strings(w);
	if (w->w.error == 0)
		flush(w);
	w->finished = w->w.error == 0;
	return w->w.error;
}
