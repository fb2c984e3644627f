#include "cluster-agent/push/body_encoding.h"

#include <errno.h>
#include <strings.h>
#include <zstd.h>

#include "common/data/gzip.h"
#include "common/limits.h"

/* 32 MiB, the largest that the collector's compressor uses. Larger ones are refused. */
#define MAX_WINDOW_LOG 25

static int explain(int e, const char *format, const struct buf *out, struct err *err)
{
	if (e == -EFBIG)
		return err_set(err, e, "the body inflates to more than %zu bytes", out->limit);
	return e == -EBADMSG ? err_set(err, e, "the body is not valid %s", format) : e;
}

static int inflate_all(ZSTD_DCtx *ctx, ZSTD_inBuffer *in, struct buf *out)
{
	size_t left = 1;

	while (in->pos < in->size || left > 0) {
		size_t step = ZSTD_DStreamOutSize(), room = out->limit - out->len, before = in->pos;
		ZSTD_outBuffer to;
		int e;

		if (room == 0)
			return -EFBIG;
		e = buf_reserve(out, step < room ? step : room);
		if (e < 0)
			return e;
		to = (ZSTD_outBuffer){out->data + out->len, step < room ? step : room, 0};
		left = ZSTD_decompressStream(ctx, &to, in);
		if (ZSTD_isError(left))
			return -EBADMSG;
		out->len += to.pos;
		out->data[out->len] = '\0';
		if (in->pos == before && to.pos == 0)
			return -EBADMSG; /* incomplete */
	}
	return 0;
}

static int inflate_zstd(const void *data, size_t len, struct buf *out)
{
	ZSTD_DCtx *ctx = ZSTD_createDCtx();
	ZSTD_inBuffer in = {data, len, 0};
	int e = -ENOMEM;

	if (ctx && !ZSTD_isError(ZSTD_DCtx_setParameter(ctx, ZSTD_d_windowLogMax, MAX_WINDOW_LOG)))
		e = inflate_all(ctx, &in, out);
	ZSTD_freeDCtx(ctx);
	return e;
}

static const char *const names[] = {
	[BODY_IDENTITY] = "identity",
	[BODY_GZIP] = "gzip",
	[BODY_ZSTD] = "zstd",
	[BODY_DEFLATE] = "deflate",
};

bool body_encoding_find(enum body_encoding *ret, const char *name)
{
	if (!name || !name[0])
		name = names[BODY_IDENTITY];
	if (strcasecmp(name, "x-gzip") == 0)
		name = names[BODY_GZIP];
	for (size_t i = 0; i < ARRAY_SIZE(names); i++) {
		if (strcasecmp(name, names[i]) == 0) {
			*ret = (enum body_encoding)i;
			return true;
		}
	}
	return false;
}

int body_inflate(enum body_encoding encoding, const void *data, size_t len, struct buf *out,
		 struct err *err)
{
	int e = encoding == BODY_GZIP   ? gzip_inflate(data, len, out)
		: encoding == BODY_ZSTD ? inflate_zstd(data, len, out)
					: zlib_inflate(data, len, out);

	return explain(e, names[encoding], out, err);
}

static bool is_zstd(const void *data, size_t len)
{
	static const uint8_t magic[] = {0x28, 0xb5, 0x2f, 0xfd};

	return len >= sizeof(magic) && memcmp(data, magic, sizeof(magic)) == 0;
}

int encoded_body_decode(struct upload_parts *ret, struct arena *arena, const void *ctx,
			const void *body, size_t len, struct err *err)
{
	const struct encoded_body *b = ctx;
	enum body_encoding encoding = b->encoding;
	CLEANUP(buf_fini) struct buf inflated;
	int e;

	buf_init(&inflated, LIMIT_UPLOAD_INFLATED_BYTES);
	if (encoding == BODY_IDENTITY && is_zstd(body, len))
		encoding = BODY_ZSTD;
	/* proxies inflate bodies without removing the header */
	if (encoding == BODY_IDENTITY || (encoding == BODY_GZIP && !gzip_detect(body, len)))
		return b->decode(ret, arena, b->ctx, body, len, err);
	e = body_inflate(encoding, body, len, &inflated, err);
	return e < 0 ? e
		     : b->decode(ret, arena, b->ctx, inflated.data ? inflated.data : "",
				 inflated.len, err);
}
