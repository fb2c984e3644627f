#include "cluster-agent/store/clickhouse_body.h"

#include <errno.h>

#include <zstd.h>

int clickhouse_body_init(struct clickhouse_body *b, const struct store_frame *frames,
			 size_t n_frames, bool inflate)
{
	*b = (struct clickhouse_body){.frames = frames, .n_frames = n_frames};
	if (!inflate)
		return 0;
	b->inflate = ZSTD_createDCtx();
	return b->inflate ? 0 : -ENOMEM;
}

void clickhouse_body_fini(struct clickhouse_body *b)
{
	ZSTD_freeDCtx(b->inflate);
	*b = (struct clickhouse_body){0};
}

void clickhouse_body_rewind(struct clickhouse_body *b)
{
	b->i = 0;
	b->offset = 0;
	if (b->inflate)
		ZSTD_DCtx_reset(b->inflate, ZSTD_reset_session_only);
}

static ssize_t read_plain(struct clickhouse_body *b, char *ret, size_t size)
{
	size_t n = 0;

	while (n < size && b->i < b->n_frames) {
		const struct store_frame *f = &b->frames[b->i];
		size_t left = f->len - b->offset, part = size - n < left ? size - n : left;

		if (part > 0)
			memcpy(ret + n, (const char *)f->data + b->offset, part);
		n += part;
		b->offset += part;
		if (b->offset == f->len) {
			b->i++;
			b->offset = 0;
		}
	}
	return (ssize_t)n;
}

static ssize_t read_inflated(struct clickhouse_body *b, char *ret, size_t size)
{
	ZSTD_outBuffer out = {ret, size, 0};

	while (out.pos < size && b->i < b->n_frames) {
		const struct store_frame *f = &b->frames[b->i];
		ZSTD_inBuffer in = {f->data, f->len, b->offset};
		size_t before = out.pos, r = ZSTD_decompressStream(b->inflate, &out, &in);

		if (ZSTD_isError(r))
			return -EBADMSG;
		/* all input was read, nothing came, and the frame does not end */
		if (in.pos == b->offset && out.pos == before)
			return -EBADMSG;
		b->offset = in.pos;
		if (r == 0 && b->offset == f->len) {
			b->i++;
			b->offset = 0;
		} else if (b->offset == f->len && out.pos < size) {
			return -EBADMSG;
		}
	}
	return (ssize_t)out.pos;
}

ssize_t clickhouse_body_read(struct clickhouse_body *b, void *ret, size_t size)
{
	return b->inflate ? read_inflated(b, ret, size) : read_plain(b, ret, size);
}
