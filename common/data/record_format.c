#include "common/data/record_format.h"

#include <errno.h>

#define XXH_INLINE_ALL
#include <xxhash.h>

_Static_assert(__BYTE_ORDER__ == __ORDER_LITTLE_ENDIAN__, "numbers are copied as they are");

#define FILE_MAGIC "CRTRECF1"
#define RECORD_MAGIC UINT32_C(0x52435243) /* "CRCR" */

struct file_header {
	char magic[8];
	uint32_t type;
	uint32_t version;
	uint8_t id[16];
	uint64_t sum; /* of what is before it */
};

struct raw_header {
	uint32_t magic;
	uint32_t kind;
	uint32_t len;
	uint32_t header_sum; /* of this struct with 0 here, seeded with file and offset */
	uint64_t sum;
};

_Static_assert(2 * sizeof(struct file_header) == RECORD_FILE_HEADER_BYTES, "no padding");
_Static_assert(sizeof(struct raw_header) == RECORD_HEADER_BYTES, "no padding");

void record_file_header_encode(uint8_t ret[RECORD_FILE_HEADER_BYTES],
			       const struct record_file_header *h)
{
	struct file_header raw = {.magic = FILE_MAGIC, .type = h->type, .version = h->version};

	memcpy(raw.id, h->id, sizeof(raw.id));
	raw.sum = XXH3_64bits(&raw, offsetof(struct file_header, sum));
	memcpy(ret, &raw, sizeof(raw));
	memcpy(ret + sizeof(raw), &raw, sizeof(raw));
}

static bool is_file_header(const struct file_header *raw)
{
	return memcmp(raw->magic, FILE_MAGIC, sizeof(raw->magic)) == 0 &&
	       raw->sum == XXH3_64bits(raw, offsetof(struct file_header, sum));
}

int record_file_header_parse(struct record_file_header *ret, const void *data, size_t len)
{
	struct file_header copies[2];
	const struct file_header *raw;

	if (len < sizeof(copies))
		return -EBADMSG;
	memcpy(copies, data, sizeof(copies));
	raw = is_file_header(&copies[0]) ? &copies[0] : &copies[1];
	if (!is_file_header(raw))
		return -EBADMSG;
	*ret = (struct record_file_header){.type = raw->type, .version = raw->version};
	memcpy(ret->id, raw->id, sizeof(ret->id));
	return 0;
}

int record_file_header_check(const struct record_file_header *h, uint32_t type, uint32_t version)
{
	if (h->type != type)
		return -EBADMSG;
	return h->version > version ? -EPROTONOSUPPORT : 0;
}

uint64_t record_sum(const void *payload, size_t len)
{
	return XXH3_64bits(payload, len);
}

static uint32_t header_sum(const struct raw_header *raw, const struct record_file_header *file,
			   uint64_t offset)
{
	uint64_t seed;

	memcpy(&seed, file->id, sizeof(seed));
	return (uint32_t)XXH3_64bits_withSeed(raw, sizeof(*raw), seed + offset);
}

void record_header_encode(uint8_t ret[RECORD_HEADER_BYTES], const struct record_header *h,
			  const struct record_file_header *file, uint64_t offset)
{
	struct raw_header raw = {
		.magic = RECORD_MAGIC,
		.kind = h->kind,
		.len = h->len,
		.sum = h->sum,
	};

	raw.header_sum = header_sum(&raw, file, offset);
	memcpy(ret, &raw, sizeof(raw));
}

int record_header_parse(struct record_header *ret, const uint8_t data[RECORD_HEADER_BYTES],
			const struct record_file_header *file, uint64_t offset)
{
	struct raw_header raw;
	uint32_t sum;

	memcpy(&raw, data, sizeof(raw));
	if (raw.magic != RECORD_MAGIC || raw.len > RECORD_MAX_BYTES)
		return -EBADMSG;
	sum = raw.header_sum;
	raw.header_sum = 0;
	if (sum != header_sum(&raw, file, offset))
		return -EBADMSG;
	*ret = (struct record_header){.kind = raw.kind, .len = raw.len, .sum = raw.sum};
	return 0;
}

int record_cursor_init(struct record_cursor *c, const void *data, size_t len)
{
	struct record_file_header file;
	int r = record_file_header_parse(&file, data, len);

	if (r < 0)
		return r;
	*c = (struct record_cursor){
		.data = data,
		.len = len,
		.file = file,
		.offset = RECORD_FILE_HEADER_BYTES,
	};
	return 0;
}

int record_cursor_open(struct record_cursor *c, const void *data, size_t len, uint32_t type,
		       uint32_t version)
{
	int r = record_cursor_init(c, data, len);

	return r < 0 ? r : record_file_header_check(&c->file, type, version);
}

static bool has_header(const struct record_cursor *c, uint64_t offset, struct record_header *ret)
{
	return c->len - offset >= RECORD_HEADER_BYTES &&
	       record_header_parse(ret, c->data + offset, &c->file, offset) == 0;
}

static bool has_record(const struct record_cursor *c, uint64_t offset, struct record_header *ret)
{
	return has_header(c, offset, ret) && record_size(ret->len) <= c->len - offset &&
	       record_sum(c->data + offset + RECORD_HEADER_BYTES, ret->len) == ret->sum;
}

static bool is_zero(const uint8_t *data, size_t len)
{
	for (size_t i = 0; i < len; i++) {
		if (data[i] != 0)
			return false;
	}
	return true;
}

/*
 * What a crash leaves of an append: the beginning of a record, or a file that has grown without
 * its bytes, which then are zeros.
 */
static bool is_torn(const struct record_cursor *c)
{
	uint64_t rest = c->len - c->offset;
	struct record_header h;

	if (rest < RECORD_HEADER_BYTES || is_zero(c->data + c->offset, rest))
		return true;
	return has_header(c, c->offset, &h) && record_size(h.len) > rest;
}

/* Returns the offset of the first record after the one that cannot be read; len: none. */
static uint64_t find_next(const struct record_cursor *c)
{
	struct record_header h;

	for (uint64_t at = c->offset + 8; at < c->len; at += 8) {
		if (has_record(c, at, &h))
			return at;
	}
	return c->len;
}

enum record_outcome record_cursor_next(struct record_cursor *c, struct record *ret)
{
	struct record_header h;
	uint64_t next;

	*ret = (struct record){.offset = c->offset};
	if (c->offset >= c->len)
		return RECORD_END;
	if (has_record(c, c->offset, &h)) {
		ret->kind = h.kind;
		ret->len = h.len;
		ret->payload = c->data + c->offset + RECORD_HEADER_BYTES;
		c->offset += record_size(h.len);
		return RECORD_READ;
	}
	next = find_next(c);
	if (next == c->len && is_torn(c))
		return RECORD_TORN;
	c->offset = next;
	return RECORD_DAMAGED;
}

bool record_cursor_read(struct record_cursor *c, struct record *ret)
{
	enum record_outcome outcome;

	while ((outcome = record_cursor_next(c, ret)) == RECORD_DAMAGED)
		c->n_damaged++;
	return outcome == RECORD_READ;
}
