/*
 * Any bytes as an ELF file, and as the memory it is loaded to: whether it is Go's and its release
 * are found out within bounds.
 */
#include <assert.h>
#include <errno.h>

#include "node-agent/go/image/go_release.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct byte_source src;
	struct elf_layout l;
	struct go_image image = {.layout = &l, .file = &src, .memory = &src};
	unsigned minor = 0;
	int r;

	byte_source_from_memory(&src, data, size);
	if (elf_layout_parse(&l, &src) < 0)
		return 0;
	r = go_release_detect(&l, &src);
	assert(r == 0 || r == 1 || r == -ENOMEM);
	if (go_release_minor(&image, &minor) == 0)
		assert(minor < 1000);
	return 0;
}
