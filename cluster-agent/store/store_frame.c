#include "cluster-agent/store/store_frame.h"

#include <errno.h>

#include <zstd.h>

#define LEVEL 1

int store_frame_pack(struct store_frame *ret, struct buf *out, const void *rows, size_t len,
		     uint64_t n_rows)
{
	size_t n;
	int r;

	if (len > UINT32_MAX || n_rows > UINT32_MAX)
		return -EFBIG;
	r = buf_reserve(out, ZSTD_compressBound(len));
	if (r < 0)
		return r;
	n = ZSTD_compress(out->data + out->len, out->cap - out->len, rows, len, LEVEL);
	if (ZSTD_isError(n))
		return -ENOMEM;
	*ret = (struct store_frame){.data = out->data + out->len,
				    .len = n,
				    .n_rows = (uint32_t)n_rows,
				    .n_bytes = (uint32_t)len};
	out->len += n;
	out->data[out->len] = '\0';
	return 0;
}
