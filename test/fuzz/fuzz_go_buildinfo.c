/* Any bytes as an ELF file, and as the memory it is loaded to: the release is found within bounds. */
#include <assert.h>

#include "node-agent/go/go_buildinfo.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct byte_source src;
	struct go_buildinfo b;
	struct elf_layout l;
	unsigned minor;

	if (go_version_parse((const char *)data, size, &minor) == 0)
		assert(minor < 1000);
	byte_source_from_memory(&src, data, size);
	if (elf_layout_parse(&l, &src) < 0 || go_buildinfo_find(&b, &l, &src) < 0)
		return 0;
	assert(b.offset < size);
	if (go_buildinfo_minor(&b, &src, &src, 0, &minor) == 0)
		assert(minor < 1000);
	return 0;
}
