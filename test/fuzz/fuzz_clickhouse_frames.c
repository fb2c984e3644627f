/* Frames: whatever they hold is bounded; and whatever is encoded comes back. */
#include <assert.h>
#include <errno.h>

#include "cluster-agent/sql/clickhouse_frames.h"

#define MAX_RAW_BYTES ((size_t)1 << 20)

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	static const enum clickhouse_method methods[] = {
		CLICKHOUSE_METHOD_NONE,
		CLICKHOUSE_METHOD_LZ4,
		CLICKHOUSE_METHOD_ZSTD,
	};
	struct buf frames, out;
	int r;

	buf_init(&out, MAX_RAW_BYTES);
	r = clickhouse_frames_decode(data, size, &out);
	assert(r == 0 || r == -EBADMSG || r == -EFBIG);
	assert(r == 0 || out.len == 0);
	buf_fini(&out);
	for (size_t i = 0; i < ARRAY_SIZE(methods); i++) {
		buf_init(&frames, 2 * size + MAX_RAW_BYTES);
		buf_init(&out, size);
		assert(clickhouse_frames_encode(data, size, methods[i], &frames) == 0);
		assert(clickhouse_frames_decode(frames.data, frames.len, &out) == 0);
		assert(out.len == size && (size == 0 || memcmp(out.data, data, size) == 0));
		buf_fini(&frames);
		buf_fini(&out);
	}
	return 0;
}
