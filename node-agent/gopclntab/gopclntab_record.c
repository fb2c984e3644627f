/*
 * A table of values is a sequence of pairs, both as varints: by how much the value changes,
 * zigzag, and for how many instructions it holds. There is no index into it, so it is read
 * from its start until the address is reached, through a small buffer, since most functions
 * are short. A hostile table could go on for the whole file; hence the limit.
 */
#include "node-agent/gopclntab/gopclntab_record.h"

#include <errno.h>

#define CHUNK_BYTES 256u
#define VALUES_MAX_BYTES (1u << 20) /* of one table of one function */

static const struct gopclntab_format formats[] = {
	[GOPCLNTAB_1_2] = {20, 24, 28, 32, 0, 36, 0, 39, 40, 4, 8, 20, 2, 12, 16},
	[GOPCLNTAB_1_16] = {20, 24, 28, 32, 36, 40, 41, 43, 44, 3, 8, 20, 2, 12, 16},
	[GOPCLNTAB_1_18] = {16, 20, 24, 28, 32, 36, 37, 39, 40, 3, 4, 20, 2, 12, 16},
	[GOPCLNTAB_1_20] = {16, 20, 24, 28, 32, 40, 41, 43, 44, 3, 4, 16, 0, 4, 8, 36, 12},
};

const struct gopclntab_format *gopclntab_format_of(const struct gopclntab *t)
{
	return &formats[t->version];
}

static void begin(struct gopclntab_record *r, const struct gopclntab *t,
		  const struct byte_source *src)
{
	*r = (struct gopclntab_record){
		.table = t,
		.src = src,
		.format = gopclntab_format_of(t),
	};
}

static int read_record(struct gopclntab_record *r)
{
	return gopclntab_read(r->table, r->src, r->function.record_offset, r->bytes,
			      r->format->size_bytes);
}

int gopclntab_record_find(struct gopclntab_record *ret, const struct gopclntab *t,
			  const struct byte_source *src, uint64_t address)
{
	int r;

	begin(ret, t, src);
	r = gopclntab_find_function(t, src, address, &ret->function);
	return r == 0 ? read_record(ret) : r;
}

int gopclntab_record_at(struct gopclntab_record *ret, const struct gopclntab *t,
			const struct byte_source *src, uint64_t index)
{
	int r;

	begin(ret, t, src);
	r = gopclntab_function_at(t, src, index, &ret->function);
	return r == 0 ? read_record(ret) : r;
}

uint32_t gopclntab_record_field(const struct gopclntab_record *r, size_t offset)
{
	uint32_t v;

	memcpy(&v, r->bytes + offset, sizeof(v));
	return v;
}

/* ---- values by address ---- */

struct value_reader {
	const struct gopclntab_record *record;
	uint64_t offset; /* behind the chunk */
	uint64_t end;
	size_t at, len;
	uint8_t chunk[CHUNK_BYTES];
};

static int next_byte(struct value_reader *v, uint8_t *ret)
{
	if (v->at == v->len) {
		uint64_t left = v->end - v->offset;
		size_t len = left < sizeof(v->chunk) ? (size_t)left : sizeof(v->chunk);
		int r = len > 0 ? gopclntab_read(v->record->table, v->record->src, v->offset,
						 v->chunk, len)
				: -ENOENT;

		if (r < 0)
			return r;
		v->offset += len;
		v->len = len;
		v->at = 0;
	}
	*ret = v->chunk[v->at++];
	return 0;
}

static int next_number(struct value_reader *v, uint32_t *ret)
{
	uint32_t n = 0;
	uint8_t byte = 0;
	int r;

	for (unsigned shift = 0; shift < 32; shift += 7) {
		r = next_byte(v, &byte);
		if (r < 0)
			return r;
		n |= (uint32_t)(byte & 0x7f) << shift;
		if (!(byte & 0x80)) {
			*ret = n;
			return 0;
		}
	}
	return -ENOENT;
}

int gopclntab_record_runs(const struct gopclntab_record *r, uint32_t offset, gopclntab_run_fn *fn,
			  void *ctx)
{
	uint64_t begin_at = r->table->values_offset + offset, size = r->table->size_bytes;
	struct value_reader v = {.record = r, .offset = begin_at};
	uint64_t at = r->function.start;
	uint32_t value = UINT32_MAX; /* -1 */

	if (offset == 0 || begin_at >= size)
		return 0;
	v.end = size - begin_at < VALUES_MAX_BYTES ? size : begin_at + VALUES_MAX_BYTES;
	for (bool first = true;; first = false) {
		uint32_t delta, step;
		uint64_t start = at;
		int e = next_number(&v, &delta);

		if (e < 0)
			return e;
		if (delta == 0 && !first)
			return 0;
		e = next_number(&v, &step);
		if (e < 0)
			return e;
		value += delta & 1 ? ~(delta >> 1) : delta >> 1;
		at += (uint64_t)step * r->table->quantum;
		e = fn(ctx, start, at, (int32_t)value);
		if (e != 0)
			return e;
	}
}

struct value_at {
	uint64_t address;
	int32_t value;
};

static int is_reached(void *ctx, uint64_t start, uint64_t end, int32_t value)
{
	struct value_at *v = ctx;

	(void)start;
	if (v->address >= end)
		return 0;
	v->value = value;
	return 1;
}

int gopclntab_record_value(const struct gopclntab_record *r, uint32_t offset, uint64_t address,
			   int32_t *ret)
{
	struct value_at v = {address, -1};
	int e = gopclntab_record_runs(r, offset, is_reached, &v);

	*ret = v.value;
	return e < 0 ? e : 0;
}
