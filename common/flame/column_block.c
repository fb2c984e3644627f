#include "common/flame/column_block.h"

#include <endian.h>
#include <errno.h>

#define MAGIC "columns1"
#define HEAD_BYTES 16u
#define ALIGNED 8u

static size_t padded(size_t n)
{
	return (n + ALIGNED - 1) / ALIGNED * ALIGNED;
}

static size_t column_bytes(const struct column *c)
{
	return (size_t)c->n * (c->is_wide ? sizeof(double) : sizeof(uint32_t));
}

int column_block_begin(struct column_block *b, struct buf *out)
{
	static const char head[HEAD_BYTES] = MAGIC;

	*b = (struct column_block){.begin = out->len};
	return buf_add(out, head, sizeof(head));
}

void column_block_put(struct column_block *b, struct json_writer *w, const struct column *c)
{
	json_open(w, '{');
	json_member_int(w, "at", (int64_t)b->n_bytes);
	json_member_text(w, "type", c->is_wide ? "f64" : "i32");
	json_member_int(w, "n", c->n);
	json_close(w, '}');
	b->columns[b->n_columns++] = *c;
	b->n_bytes += padded(column_bytes(c));
}

static uint64_t f64_bits(int64_t v)
{
	double d = (double)v;
	uint64_t bits;

	memcpy(&bits, &d, sizeof(bits));
	return htole64(bits);
}

static char *write_column(char *to, const struct column *c)
{
	const char *from = c->first;

	for (uint32_t i = 0; i < c->n; i++, from += c->stride) {
		if (c->is_wide) {
			uint64_t bits = f64_bits(*(const int64_t *)(const void *)from);

			memcpy(to + i * sizeof(bits), &bits, sizeof(bits));
		} else {
			uint32_t v = htole32(*(const uint32_t *)(const void *)from);

			memcpy(to + i * sizeof(v), &v, sizeof(v));
		}
	}
	return to + padded(column_bytes(c));
}

int column_block_finish(struct column_block *b, struct buf *out)
{
	size_t json_len = out->len - b->begin - HEAD_BYTES;
	uint32_t len = htole32((uint32_t)json_len);
	size_t at = b->begin + padded(HEAD_BYTES + json_len);
	size_t end = at + b->n_bytes;
	int r = json_len > UINT32_MAX ? -EFBIG : buf_reserve(out, end - out->len);
	char *to;

	if (r < 0)
		return r;
	memcpy(out->data + b->begin + strlen(MAGIC), &len, sizeof(len));
	memset(out->data + out->len, 0, end - out->len);
	out->len = end;
	out->data[end] = '\0';
	to = out->data + at;
	for (uint32_t i = 0; i < b->n_columns; i++)
		to = write_column(to, &b->columns[i]);
	return 0;
}
