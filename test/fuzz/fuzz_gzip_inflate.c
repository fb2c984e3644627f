/* Any bytes: the limit holds, and what inflates deflates and inflates to the same. */
#include "common/data/buf.h"
#include "common/data/gzip.h"

#define LIMIT_BYTES ((size_t)1024 * 1024)

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	CLEANUP(buf_fini) struct buf out, zipped, again;

	buf_init(&out, LIMIT_BYTES);
	buf_init(&zipped, 2 * LIMIT_BYTES);
	buf_init(&again, LIMIT_BYTES);

	if (gzip_inflate(data, size, &out) < 0) {
		if (out.len != 0)
			abort();
		return 0;
	}
	if (out.len > LIMIT_BYTES || (out.data && out.data[out.len] != '\0'))
		abort();
	if (gzip_deflate(out.data, out.len, 1, &zipped) < 0 ||
	    gzip_inflate(zipped.data, zipped.len, &again) < 0)
		abort();
	if (again.len != out.len || (out.len > 0 && memcmp(again.data, out.data, out.len) != 0))
		abort();
	return 0;
}
