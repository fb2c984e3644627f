#include "cluster-agent/store/rowbinary.h"

#include <errno.h>

#define VARINT_MAX_BYTES 10

void rowbinary_writer_init(struct rowbinary_writer *w, struct buf *out)
{
	*w = (struct rowbinary_writer){.out = out};
}

static void put_bytes(struct rowbinary_writer *w, const void *data, size_t len)
{
	if (w->error == 0)
		w->error = buf_add(w->out, data, len);
}

void rowbinary_put_u8(struct rowbinary_writer *w, uint8_t v)
{
	put_bytes(w, &v, 1);
}

void rowbinary_put_u64(struct rowbinary_writer *w, uint64_t v)
{
	uint8_t b[8];

	for (size_t i = 0; i < sizeof(b); i++)
		b[i] = (uint8_t)(v >> (8 * i));
	put_bytes(w, b, sizeof(b));
}

void rowbinary_put_i64(struct rowbinary_writer *w, int64_t v)
{
	rowbinary_put_u64(w, (uint64_t)v);
}

static size_t encode_count(uint8_t *to, uint64_t n)
{
	size_t len = 0;

	for (; n > 0x7f; n >>= 7)
		to[len++] = (uint8_t)(n | 0x80);
	to[len++] = (uint8_t)n;
	return len;
}

void rowbinary_put_count(struct rowbinary_writer *w, uint64_t n)
{
	uint8_t b[VARINT_MAX_BYTES];

	put_bytes(w, b, encode_count(b, n));
}

/* Most bytes of rows are strings, so length and content are written at once. */
void rowbinary_put_string(struct rowbinary_writer *w, const char *s, size_t len)
{
	uint8_t count[VARINT_MAX_BYTES];
	size_t n = encode_count(count, len);
	struct buf *out = w->out;

	if (w->error == 0)
		w->error = buf_reserve(out, n + len);
	if (w->error < 0)
		return;
	memcpy(out->data + out->len, count, n);
	if (len > 0)
		memcpy(out->data + out->len + n, s, len);
	out->len += n + len;
	out->data[out->len] = '\0';
}

int rowbinary_writer_finish(const struct rowbinary_writer *w)
{
	return w->error;
}

void rowbinary_reader_init(struct rowbinary_reader *r, const void *data, size_t len)
{
	const uint8_t *bytes = data;

	/* adding 0 to NULL is undefined, so an empty answer needs an address */
	if (!bytes)
		bytes = (const uint8_t *)"";
	*r = (struct rowbinary_reader){.pos = bytes, .end = bytes + len};
}

/* Consumes len bytes; NULL on error. */
static const uint8_t *get_bytes(struct rowbinary_reader *r, size_t len)
{
	const uint8_t *p = r->pos;

	if (r->error != 0)
		return NULL;
	if (len > (size_t)(r->end - r->pos)) {
		r->error = -EBADMSG;
		return NULL;
	}
	r->pos += len;
	return p;
}

static uint64_t get_little_endian(struct rowbinary_reader *r, size_t len)
{
	const uint8_t *p = get_bytes(r, len);
	uint64_t v = 0;

	for (size_t i = 0; p && i < len; i++)
		v |= (uint64_t)p[i] << (8 * i);
	return v;
}

uint8_t rowbinary_get_u8(struct rowbinary_reader *r)
{
	return (uint8_t)get_little_endian(r, 1);
}

uint32_t rowbinary_get_u32(struct rowbinary_reader *r)
{
	return (uint32_t)get_little_endian(r, 4);
}

uint64_t rowbinary_get_u64(struct rowbinary_reader *r)
{
	return get_little_endian(r, 8);
}

int64_t rowbinary_get_i64(struct rowbinary_reader *r)
{
	return (int64_t)get_little_endian(r, 8);
}

double rowbinary_get_f64(struct rowbinary_reader *r)
{
	uint64_t bits = get_little_endian(r, 8);
	double v;

	memcpy(&v, &bits, sizeof(v));
	return v;
}

uint64_t rowbinary_get_count(struct rowbinary_reader *r)
{
	uint64_t n = 0;

	for (size_t i = 0; i < VARINT_MAX_BYTES; i++) {
		const uint8_t *p = get_bytes(r, 1);

		if (!p)
			return 0;
		n |= (uint64_t)(*p & 0x7f) << (7 * i);
		if (*p & 0x80)
			continue;
		if (n <= (uint64_t)(r->end - r->pos))
			return n;
		break;
	}
	r->error = -EBADMSG;
	return 0;
}

const char *rowbinary_get_string(struct rowbinary_reader *r, size_t *ret_len)
{
	size_t len = (size_t)rowbinary_get_count(r);
	const uint8_t *p = get_bytes(r, len);

	*ret_len = p ? len : 0;
	return p ? (const char *)p : "";
}

const char *rowbinary_take_string(struct rowbinary_reader *r, struct arena *a)
{
	size_t len;
	const char *text = rowbinary_get_string(r, &len);

	return arena_strndup(a, text, len);
}

bool rowbinary_has_more(const struct rowbinary_reader *r)
{
	return r->error == 0 && r->pos < r->end;
}

int rowbinary_reader_finish(const struct rowbinary_reader *r)
{
	return r->error;
}
