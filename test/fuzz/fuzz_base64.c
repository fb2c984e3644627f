/* Any text as base64: what is understood is the same after writing and reading it again. */
#include "common/text/base64.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	CLEANUP(buf_fini) struct buf bytes, text, again;

	buf_init(&bytes, size);
	buf_init(&text, 2 * size + 4);
	buf_init(&again, size);
	if (base64_decode((const char *)data, size, &bytes) < 0)
		return 0;
	if (base64_encode(bytes.data, bytes.len, &text) < 0 || text.len % 4 != 0 ||
	    base64_decode(text.data, text.len, &again) < 0)
		abort();
	if (again.len != bytes.len || memcmp(again.data, bytes.data, bytes.len) != 0)
		abort();
	return 0;
}
