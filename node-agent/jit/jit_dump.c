/*
 * A record is collected in a buffer up to as many bytes as are of use, and the rest of it is
 * skipped. What a function's lines and unwinding are comes before the function.
 */
#include "node-agent/jit/jit_dump.h"

#include <errno.h>

#define MAGIC 0x4a695444u
#define VERSION 1u
#define HEAD_BYTES 16u /* of a record: id, size, time */
#define CODE_BYTES 40u /* before the name, as in the next two */
#define MOVE_BYTES 48u
#define LINES_BYTES 16u
#define LINE_BYTES 16u /* before its file */
#define UNWINDING_BYTES 24u

enum record_id {
	RECORD_CODE = 0,
	RECORD_MOVE = 1,
	RECORD_LINES = 2,
	RECORD_CLOSE = 3,
	RECORD_UNWINDING = 4,
};

enum stage {
	STAGE_HEADER, /* what want has */
	STAGE_HEAD,
	STAGE_BODY,
	STAGE_BROKEN,
};

/* What was said of the function that follows. */
struct kept {
	char *data; /* NULL: nothing yet */
	size_t len; /* 0: nothing */
	size_t max;
};

struct jit_dump {
	struct jit_dump_sink sink;
	enum stage stage;
	uint32_t id; /* of the record whose body is read */
	uint64_t skip;
	uint64_t rest; /* of the record, behind want */
	size_t want, have;
	struct kept body, lines, unwinding;
};

int jit_dump_new(struct jit_dump **ret, const struct jit_dump_sink *sink)
{
	struct jit_dump *d = calloc(1, sizeof(*d));

	if (!d)
		return -ENOMEM;
	d->sink = *sink;
	d->want = JIT_DUMP_HEADER_BYTES;
	*ret = d;
	return 0;
}

void jit_dump_free(struct jit_dump *d)
{
	if (!d)
		return;
	free(d->body.data);
	free(d->lines.data);
	free(d->unwinding.data);
	free(d);
}

bool jit_dump_is_broken(const struct jit_dump *d)
{
	return d->stage == STAGE_BROKEN;
}

size_t jit_dump_bytes(const struct jit_dump *d)
{
	return sizeof(*d) + d->body.max + d->lines.max + d->unwinding.max;
}

static uint32_t u32_at(const char *p)
{
	uint32_t x;

	memcpy(&x, p, sizeof(x));
	return x;
}

static uint64_t u64_at(const char *p)
{
	uint64_t x;

	memcpy(&x, p, sizeof(x));
	return x;
}

static int reserve(struct kept *k, size_t n)
{
	size_t max = n > 4096 ? n : 4096;
	char *bigger;

	if (n <= k->max)
		return 0;
	bigger = realloc(k->data, max);
	if (!bigger)
		return -ENOMEM;
	k->data = bigger;
	k->max = max;
	return 0;
}

/* ---- records ---- */

/* Of the body as much as is of use. */
static size_t wanted(uint32_t id, uint64_t size)
{
	size_t max = 0;

	switch (id) {
	case RECORD_CODE:
		max = CODE_BYTES + JIT_DUMP_NAME_BYTES;
		break;
	case RECORD_MOVE:
		max = MOVE_BYTES;
		break;
	case RECORD_LINES:
	case RECORD_UNWINDING:
		max = JIT_DUMP_RECORD_BYTES;
		break;
	default:
		break;
	}
	return size < max ? (size_t)size : max;
}

/* The body becomes what is kept, and the other way round. */
static void keep(struct jit_dump *d, struct kept *k)
{
	struct kept old = *k;

	*k = d->body;
	k->len = d->have;
	d->body = old;
}

static int on_code(struct jit_dump *d)
{
	const char *p = d->body.data;
	struct jit_dump_code c = {0};
	uint64_t eh_frame, header;
	const struct kept *u = &d->unwinding;
	int r = 0;

	if (d->have > CODE_BYTES) {
		c.address = u64_at(p + 16);
		c.size_bytes = u64_at(p + 24);
		c.index = u64_at(p + 32);
		c.name = p + CODE_BYTES;
		c.name_len = strnlen(c.name, d->have - CODE_BYTES);
		if (d->lines.len > LINES_BYTES && u64_at(d->lines.data) == c.address)
			c.lines = (struct jit_dump_lines){.data = d->lines.data + LINES_BYTES,
							  .len = d->lines.len - LINES_BYTES};
		if (u->len > UNWINDING_BYTES) {
			eh_frame = u64_at(u->data);
			header = u64_at(u->data + 8);
			if (eh_frame <= u->len - UNWINDING_BYTES && header < eh_frame) {
				c.eh_frame = u->data + UNWINDING_BYTES;
				c.eh_frame_len = (size_t)(eh_frame - header);
			}
		}
		r = d->sink.on_code ? d->sink.on_code(d->sink.ctx, &c) : 0;
	}
	d->lines.len = d->unwinding.len = 0;
	return r;
}

static int on_move(const struct jit_dump *d)
{
	const char *p = d->body.data;
	struct jit_dump_move m;

	if (d->have < MOVE_BYTES || !d->sink.on_move)
		return 0;
	m = (struct jit_dump_move){
		.to = u64_at(p + 24), .size_bytes = u64_at(p + 32), .index = u64_at(p + 40)};
	return d->sink.on_move(d->sink.ctx, &m);
}

static int on_body(struct jit_dump *d)
{
	switch (d->id) {
	case RECORD_CODE:
		return on_code(d);
	case RECORD_MOVE:
		return on_move(d);
	case RECORD_LINES:
		keep(d, &d->lines);
		return 0;
	case RECORD_UNWINDING:
		keep(d, &d->unwinding);
		return 0;
	default:
		return 0;
	}
}

/* ---- the stream ---- */

static void expect(struct jit_dump *d, enum stage stage, size_t want)
{
	d->stage = stage;
	d->want = want;
	d->have = 0;
}

static void on_header(struct jit_dump *d)
{
	const char *p = d->body.data;
	uint32_t size = u32_at(p + 8);

	if (u32_at(p) != MAGIC || u32_at(p + 4) != VERSION || size < JIT_DUMP_HEADER_BYTES) {
		d->stage = STAGE_BROKEN;
		return;
	}
	d->skip = size - JIT_DUMP_HEADER_BYTES;
	expect(d, STAGE_HEAD, HEAD_BYTES);
}

static void on_head(struct jit_dump *d)
{
	uint32_t size = u32_at(d->body.data + 4);

	d->id = u32_at(d->body.data);
	if (size < HEAD_BYTES) {
		d->stage = STAGE_BROKEN;
		return;
	}
	expect(d, STAGE_BODY, wanted(d->id, size - HEAD_BYTES));
	d->rest = size - HEAD_BYTES - d->want;
}

/* Everything that is wanted is there. */
static int on_all(struct jit_dump *d)
{
	int r = 0;

	switch (d->stage) {
	case STAGE_HEADER:
		on_header(d);
		break;
	case STAGE_HEAD:
		on_head(d);
		break;
	case STAGE_BODY:
		r = on_body(d);
		d->skip = d->rest;
		expect(d, STAGE_HEAD, HEAD_BYTES);
		break;
	case STAGE_BROKEN:
		break;
	}
	return r;
}

uint64_t jit_dump_skip(struct jit_dump *d, uint64_t max)
{
	uint64_t n = d->skip < max ? d->skip : max;

	d->skip -= n;
	return n;
}

int jit_dump_add(struct jit_dump *d, const char *data, size_t len)
{
	const char *end = data + len;
	int first = 0, r;

	while (d->stage != STAGE_BROKEN) {
		size_t left, n;

		data += jit_dump_skip(d, (uint64_t)(end - data));
		left = (size_t)(end - data);
		n = d->want - d->have < left ? d->want - d->have : left;
		r = reserve(&d->body, d->want);
		if (r < 0) {
			d->stage = STAGE_BROKEN; /* what follows has no beginning */
			return r;
		}
		if (n > 0)
			memcpy(d->body.data + d->have, data, n);
		d->have += n;
		data += n;
		if (d->skip > 0 || d->have < d->want)
			break;
		r = on_all(d);
		first = first ?: r;
	}
	return first;
}

bool jit_dump_next_line(struct jit_dump_lines *l, struct jit_dump_line *ret)
{
	static const char same[] = {(char)0xff, '\0'};
	size_t len;

	if (l->len <= LINE_BYTES)
		return false;
	len = strnlen(l->data + LINE_BYTES, l->len - LINE_BYTES);
	if (len == l->len - LINE_BYTES) /* cut */
		return false;
	if (len != 1 || memcmp(l->data + LINE_BYTES, same, sizeof(same)) != 0) {
		l->file = l->data + LINE_BYTES;
		l->file_len = len;
	}
	*ret = (struct jit_dump_line){.address = u64_at(l->data),
				      .line = u32_at(l->data + 8),
				      .file = l->file ?: "",
				      .file_len = l->file_len};
	l->data += LINE_BYTES + len + 1;
	l->len -= LINE_BYTES + len + 1;
	return true;
}
