#include "common/pprof/pprof_wire.h"

#include <errno.h>

#define VARINT_MAX_BYTES 10

int wire_reader_read_long_varint(struct wire_reader *r, uint64_t *ret)
{
	uint64_t value = 0;

	if (r->p == r->end)
		return 0;
	for (unsigned i = 0; i < VARINT_MAX_BYTES && r->p < r->end; i++) {
		uint8_t byte = *r->p++;

		/* the tenth byte has room for one bit */
		if (i == VARINT_MAX_BYTES - 1 && byte > 1)
			return -EBADMSG;
		value |= (uint64_t)(byte & 0x7f) << (7 * i);
		if (!(byte & 0x80)) {
			*ret = value;
			return 1;
		}
	}
	return -EBADMSG;
}

static int skip(struct wire_reader *r, uint64_t len, struct wire_field *ret)
{
	if (len > (uint64_t)(r->end - r->p))
		return -EBADMSG;
	ret->data = r->p;
	ret->len = (size_t)len;
	r->p += len;
	return 1;
}

int wire_reader_read_field(struct wire_reader *r, struct wire_field *ret)
{
	uint64_t tag, len = 0;
	int n;

	n = wire_reader_read_varint(r, &tag);
	if (n <= 0)
		return n;
	if (tag >> 3 == 0 || tag >> 3 > UINT32_MAX >> 3)
		return -EBADMSG;
	*ret = (struct wire_field){.number = (uint32_t)(tag >> 3), .type = tag & 7};

	switch (tag & 7) {
	case WIRE_VARINT:
		return wire_reader_read_varint(r, &ret->value) == 1 ? 1 : -EBADMSG;
	case WIRE_FIXED64:
		return skip(r, 8, ret);
	case WIRE_FIXED32:
		return skip(r, 4, ret);
	case WIRE_BYTES:
		return wire_reader_read_varint(r, &len) == 1 ? skip(r, len, ret) : -EBADMSG;
	default:
		return -EBADMSG;
	}
}

static void put(struct wire_writer *w, const void *data, size_t len)
{
	if (w->error == 0)
		w->error = buf_add(w->out, data, len);
}

/* Most bytes of a profile are varints, so they are written straight into the buffer. */
void wire_writer_put_varint(struct wire_writer *w, uint64_t value)
{
	struct buf *b = w->out;

	if (w->error == 0)
		w->error = buf_reserve(b, wire_varint_len(value));
	if (w->error < 0)
		return;
	for (; value >= 0x80; value >>= 7)
		b->data[b->len++] = (char)(value | 0x80);
	b->data[b->len++] = (char)value;
	b->data[b->len] = '\0';
}

void wire_writer_put_number(struct wire_writer *w, uint32_t field, uint64_t value)
{
	if (value == 0)
		return;
	wire_writer_put_varint(w, (uint64_t)field << 3 | WIRE_VARINT);
	wire_writer_put_varint(w, value);
}

void wire_writer_put_head(struct wire_writer *w, uint32_t field, size_t len)
{
	wire_writer_put_varint(w, (uint64_t)field << 3 | WIRE_BYTES);
	wire_writer_put_varint(w, len);
}

void wire_writer_put_bytes(struct wire_writer *w, uint32_t field, const void *data, size_t len)
{
	wire_writer_put_head(w, field, len);
	put(w, data, len);
}

size_t wire_varint_len(uint64_t value)
{
	size_t n = 1;

	while (value >= 0x80) {
		value >>= 7;
		n++;
	}
	return n;
}
