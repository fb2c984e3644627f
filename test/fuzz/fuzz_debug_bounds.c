/* Any bytes as what .NET's compilers write down for debuggers; the first one chooses the form. */
#include <assert.h>
#include <errno.h>

#include "node-agent/dotnet/debug_bounds.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	static const uint32_t offsets[] = {0, 20, 1000, UINT32_MAX};
	struct byte_source src;
	struct debug_info d = {.src = &src};

	if (size == 0)
		return 0;
	byte_source_from_memory(&src, data + 1, size - 1);
	d.form = data[0] & 3;
	d.has_flags = data[0] & 4;
	for (size_t i = 0; i < ARRAY_SIZE(offsets); i++) {
		uint32_t il;
		int r = debug_bounds_find(&d, offsets[i], &il);

		assert(r == 0 || r == -ENOENT || r == -EBADMSG || r == -ENOTSUP);
	}
	return 0;
}
