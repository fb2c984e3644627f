#include "cluster-agent/store/row_insert.h"

#include <errno.h>
#include <zstd.h>

#define LEVEL 1

int row_insert(struct store *store, enum store_table table, const struct buf *rows, uint32_t n,
	       struct err *err)
{
	size_t bound = ZSTD_compressBound(rows->len), len;
	AUTO_FREE void *packed = malloc(bound);
	struct store_frame frame = {.n_rows = n, .n_bytes = (uint32_t)rows->len};

	if (!packed)
		return -ENOMEM;
	len = ZSTD_compress(packed, bound, rows->data, rows->len, LEVEL);
	if (ZSTD_isError(len))
		return -ENOMEM;
	frame.data = packed;
	frame.len = len;
	return store_insert(store, table, NULL, &frame, 1, err);
}
