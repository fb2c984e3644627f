/*
 * If the first byte is even, the rest is a record file as it is. If it is odd, the rest makes one:
 * records of the given lengths, of which some bytes are then changed; a record that was not
 * touched must be found, and no other.
 */
#include <assert.h>

#include "common/data/record_format.h"

#define MAX_RECORDS 32
#define MAX_BYTES 8192

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

/* Finds the same records as the outcomes say, and counts the damage between them. */
static void read_again(struct record_cursor c)
{
	struct record_cursor each = c;
	enum record_outcome o;
	struct record r, found;
	uint64_t n_damaged = 0;

	while ((o = record_cursor_next(&each, &r)) == RECORD_READ || o == RECORD_DAMAGED) {
		n_damaged += o == RECORD_DAMAGED;
		if (o == RECORD_DAMAGED)
			continue;
		assert(record_cursor_read(&c, &found));
		assert(found.offset == r.offset && found.payload == r.payload);
	}
	assert(!record_cursor_read(&c, &found));
	assert(c.n_damaged == n_damaged && c.offset == each.offset);
	assert(record_boundary(c.offset) <= c.len);
}

static void read_raw(const uint8_t *data, size_t size)
{
	uint8_t *copy = malloc(size + 1); /* aligned, as files in memory are */
	struct record_cursor c;
	struct record r;
	uint64_t sum = 0;

	assert(copy);
	if (size > 0)
		memcpy(copy, data, size);
	if (record_cursor_init(&c, copy, size) == 0) {
		read_again(c);
		for (;;) {
			uint64_t before = c.offset;
			enum record_outcome o = record_cursor_next(&c, &r);

			assert(c.offset <= size && r.offset == before);
			if (o == RECORD_END || o == RECORD_TORN)
				break;
			assert(c.offset > before);
			for (uint32_t i = 0; o == RECORD_READ && i < r.len; i++)
				sum += ((const uint8_t *)r.payload)[i];
		}
	}
	free(copy);
	assert(sum < UINT64_MAX);
}

struct made {
	uint8_t bytes[MAX_BYTES];
	size_t len;
	uint64_t begins[MAX_RECORDS];
	uint64_t ends[MAX_RECORDS]; /* without the padding, whose bytes do not matter */
	bool is_touched[MAX_RECORDS];
	unsigned n;
};

static size_t make(struct made *m, const uint8_t *data, size_t size)
{
	static const struct record_file_header file = {.type = 1, .version = 1, .id = {9, 9}};
	size_t at = 0;

	record_file_header_encode(m->bytes, &file);
	m->len = RECORD_FILE_HEADER_BYTES;
	while (m->n < MAX_RECORDS && at < size && data[at] > 0) {
		uint32_t len = data[at++] - 1u;
		struct record_header h = {.kind = m->n, .len = len};

		if (len > size - at)
			len = h.len = (uint32_t)(size - at);
		h.sum = record_sum(data + at, len);
		record_header_encode(m->bytes + m->len, &h, &file, m->len);
		memcpy(m->bytes + m->len + RECORD_HEADER_BYTES, data + at, len);
		m->begins[m->n] = m->len;
		m->ends[m->n++] = m->len + RECORD_HEADER_BYTES + len;
		m->len += record_size(len);
		at += len;
	}
	return at;
}

/* The input names places and what to change there, but not in the file header. */
static void touch(struct made *m, const uint8_t *data, size_t size)
{
	for (size_t at = 0; at + 3 <= size; at += 3) {
		size_t place = data[at] | (size_t)data[at + 1] << 8;

		if (place < RECORD_FILE_HEADER_BYTES || place >= m->len || data[at + 2] == 0)
			continue;
		m->bytes[place] ^= data[at + 2];
		for (unsigned i = 0; i < m->n; i++) {
			if (place >= m->begins[i] && place < m->ends[i])
				m->is_touched[i] = true;
		}
	}
}

static void read_made(const struct made *m)
{
	struct record_cursor c;
	struct record r;
	unsigned next = 0;

	assert(record_cursor_init(&c, m->bytes, m->len) == 0);
	for (;;) {
		enum record_outcome o = record_cursor_next(&c, &r);

		if (o == RECORD_END || o == RECORD_TORN)
			break;
		if (o == RECORD_DAMAGED)
			continue;
		/* two changes of a byte may have restored it */
		while (next < m->n && m->begins[next] < r.offset)
			assert(m->is_touched[next++]);
		assert(next < m->n && m->begins[next] == r.offset && r.kind == next);
		next++;
	}
	while (next < m->n)
		assert(m->is_touched[next++]);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	static struct made m;
	size_t at;

	if (size == 0 || size > 4000)
		return 0;
	if (data[0] % 2 == 0) {
		read_raw(data + 1, size - 1);
		return 0;
	}
	memset(&m, 0, sizeof(m));
	at = 1 + make(&m, data + 1, size - 1);
	touch(&m, data + at, size - at);
	read_made(&m);
	return 0;
}
