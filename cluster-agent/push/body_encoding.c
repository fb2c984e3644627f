#include "cluster-agent/otlp/otlp_inflate.h"

#include <errno.h>
#include <zstd.h>

#include "common/data/gzip.h"

/* 32 MiB, the largest that the collector's compressor uses. Larger ones are refused. */
#define MAX_WINDOW_LOG 25

static int explain(int e, const char *format, const struct buf *out, struct err *err)
{
	if (e == -EFBIG)
		return err_set(err, e, "the body inflates to more than %zu bytes", out->limit);
	return e == -EBADMSG ? err_set(err, e, "the body is not valid %s", format) : e;
}

int otlp_inflate_gzip(const void *data, size_t len, struct buf *out, struct err *err)
{
	return explain(gzip_inflate(data, len, out), "gzip", out, err);
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

int otlp_inflate_zstd(const void *data, size_t len, struct buf *out, struct err *err)
{
	ZSTD_DCtx *ctx = ZSTD_createDCtx();
	ZSTD_inBuffer in = {data, len, 0};
	int e = -ENOMEM;

	if (ctx && !ZSTD_isError(ZSTD_DCtx_setParameter(ctx, ZSTD_d_windowLogMax, MAX_WINDOW_LOG)))
		e = inflate_all(ctx, &in, out);
	ZSTD_freeDCtx(ctx);
	return explain(e, "zstd", out, err);
}
