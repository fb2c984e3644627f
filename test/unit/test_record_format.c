/* Record files in memory: torn at every length, with every byte flipped. */
#include <errno.h>

#include "common/data/record_format.h"
#include "test/lib/unit.h"

#define N_RECORDS 5

static const struct record_file_header file_header = {
	.type = 7,
	.version = 1,
	.id = {1, 2, 3, 4, 5, 6, 7, 8, 9},
};
/* lengths around the padding, and none at all */
static const uint32_t lengths[N_RECORDS] = {8, 0, 13, 7, 33};

struct image {
	uint8_t bytes[1024];
	size_t len;
	uint64_t begins[N_RECORDS + 1];
};

static void payload_of(uint32_t record, uint8_t *ret)
{
	for (uint32_t i = 0; i < lengths[record]; i++)
		ret[i] = (uint8_t)(record * 40 + i + 1);
}

static void add(struct image *m, uint32_t kind, const void *payload, uint32_t len)
{
	const struct record_header h = {.kind = kind, .len = len, .sum = record_sum(payload, len)};

	record_header_encode(m->bytes + m->len, &h, &file_header, m->len);
	memcpy(m->bytes + m->len + RECORD_HEADER_BYTES, payload, len);
	m->len += record_size(len);
}

static void make(struct image *m)
{
	memset(m, 0, sizeof(*m));
	record_file_header_encode(m->bytes, &file_header);
	m->len = RECORD_FILE_HEADER_BYTES;
	for (uint32_t i = 0; i < N_RECORDS; i++) {
		uint8_t payload[64];

		m->begins[i] = m->len;
		payload_of(i, payload);
		add(m, i, payload, lengths[i]);
	}
	m->begins[N_RECORDS] = m->len;
}

static void assert_is(const struct record *r, uint32_t record, const struct image *m)
{
	uint8_t payload[64];

	payload_of(record, payload);
	assert_int_equal(r->kind, record);
	assert_int_equal(r->len, lengths[record]);
	assert_memory_equal(r->payload, payload, lengths[record]);
	assert_int_equal(r->offset, m->begins[record]);
}

TEST(test_records_come_out_as_they_went_in)
{
	struct record_cursor c;
	struct record r;
	struct image m;

	make(&m);
	assert_int_equal(record_cursor_init(&c, m.bytes, m.len), 0);
	assert_int_equal(c.file.type, 7);
	assert_int_equal(c.file.version, 1);
	assert_memory_equal(c.file.id, file_header.id, 16);
	for (uint32_t i = 0; i < N_RECORDS; i++) {
		assert_int_equal(record_cursor_next(&c, &r), RECORD_READ);
		assert_is(&r, i, &m);
	}
	assert_int_equal(record_cursor_next(&c, &r), RECORD_END);
	assert_int_equal(c.offset, m.len);
}

TEST(test_a_file_that_ends_anywhere_keeps_its_whole_records)
{
	for (size_t len = 0;; len++) {
		AUTO_FREE uint8_t *copy = malloc(len + 1);
		enum record_outcome o;
		struct record_cursor c;
		struct record r;
		struct image m;
		uint32_t n = 0;

		make(&m);
		if (len > m.len)
			break;
		memcpy(copy, m.bytes, len);
		if (len < RECORD_FILE_HEADER_BYTES) {
			assert_int_equal(record_cursor_init(&c, copy, len), -EBADMSG);
			continue;
		}
		assert_int_equal(record_cursor_init(&c, copy, len), 0);
		while ((o = record_cursor_next(&c, &r)) == RECORD_READ)
			assert_is(&r, n++, &m);
		assert_true(m.begins[n] <= len && (n == N_RECORDS || m.begins[n + 1] > len));
		assert_int_equal(o, m.begins[n] == len ? RECORD_END : RECORD_TORN);
		assert_int_equal(c.offset, m.begins[n]);
	}
}

TEST(test_zeros_at_the_end_are_torn)
{
	for (size_t n_zeros = 1; n_zeros < 200; n_zeros++) {
		struct record_cursor c;
		struct record r;
		struct image m;

		make(&m);
		assert_int_equal(record_cursor_init(&c, m.bytes, m.len + n_zeros), 0);
		for (uint32_t i = 0; i < N_RECORDS; i++)
			assert_int_equal(record_cursor_next(&c, &r), RECORD_READ);
		assert_int_equal(record_cursor_next(&c, &r), RECORD_TORN);
		assert_int_equal(c.offset, m.len);
	}
}

/* Returns the record that the byte is part of, or N_RECORDS if it is of none. */
static uint32_t record_at(const struct image *m, size_t at)
{
	for (uint32_t i = 0; i < N_RECORDS; i++) {
		if (at >= m->begins[i] && at < m->begins[i] + RECORD_HEADER_BYTES + lengths[i])
			return i;
	}
	return N_RECORDS;
}

static void check_flip(size_t at, uint8_t bits)
{
	enum record_outcome o;
	struct record_cursor c;
	struct record r;
	struct image m;
	uint32_t hit, next = 0;

	make(&m);
	hit = record_at(&m, at);
	m.bytes[at] ^= bits;
	assert_int_equal(record_cursor_init(&c, m.bytes, m.len), 0);
	while ((o = record_cursor_next(&c, &r)) != RECORD_END) {
		assert_int_not_equal(o, RECORD_TORN);
		if (next == hit) {
			assert_int_equal(o, RECORD_DAMAGED);
			assert_int_equal(r.offset, m.begins[hit]);
		} else {
			assert_int_equal(o, RECORD_READ);
			assert_is(&r, next, &m);
		}
		next++;
	}
	assert_int_equal(next, N_RECORDS);
}

TEST(test_a_flipped_byte_loses_one_record_and_no_other)
{
	struct image m;

	make(&m);
	for (size_t at = 0; at < m.len; at++) {
		check_flip(at, 0x01);
		check_flip(at, 0x80);
		check_flip(at, 0xff);
	}
}

TEST(test_without_both_headers_it_is_no_record_file)
{
	struct record_cursor c;
	struct image m;

	make(&m);
	m.bytes[9] ^= 1;
	m.bytes[RECORD_FILE_HEADER_BYTES / 2 + 9] ^= 1;
	assert_int_equal(record_cursor_init(&c, m.bytes, m.len), -EBADMSG);
}

TEST(test_a_record_inside_a_payload_or_of_elsewhere_is_not_believed)
{
	struct image inner = {0}, m = {0};
	struct record_cursor c;
	struct record r;

	/* a payload that holds a record of this very file, but of another offset */
	record_file_header_encode(m.bytes, &file_header);
	m.len = inner.len = RECORD_FILE_HEADER_BYTES;
	add(&inner, 1, "12345678", 8);
	add(&m, 2, inner.bytes + RECORD_FILE_HEADER_BYTES, (uint32_t)record_size(8));
	add(&m, 3, "abc", 3);
	m.bytes[RECORD_FILE_HEADER_BYTES] ^= 1; /* the header of the outer one */
	assert_int_equal(record_cursor_init(&c, m.bytes, m.len), 0);
	assert_int_equal(record_cursor_next(&c, &r), RECORD_DAMAGED);
	assert_int_equal(record_cursor_next(&c, &r), RECORD_READ);
	assert_int_equal(r.kind, 3);
	assert_int_equal(record_cursor_next(&c, &r), RECORD_END);
}

TEST(test_a_length_beyond_the_limit_is_damage)
{
	const struct record_header h = {.kind = 1, .len = RECORD_MAX_BYTES + 1};
	uint8_t raw[RECORD_HEADER_BYTES];
	struct record_header out;

	record_header_encode(raw, &h, &file_header, 80);
	assert_int_equal(record_header_parse(&out, raw, &file_header, 80), -EBADMSG);
}
