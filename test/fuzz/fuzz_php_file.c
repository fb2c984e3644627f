/* Any bytes as an ELF file that may have PHP, as test/unit/test_php_code.c makes them. */
#include <assert.h>

#include "node-agent/interpreter/php/php_interpreter.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	static struct elf_layout layout;
	static struct interpreter_image image;
	struct byte_source src;

	byte_source_from_memory(&src, data, size);
	if (elf_layout_parse(&layout, &src) < 0 ||
	    php_interpreter_ops.recognise(&layout, &src, &image) < 0)
		return 0;
	assert(image.n_loops > 0 && image.n_loops <= CHAIN_RANGES);
	if (!(image.flags & CHAIN_IN_LOOPS_FRAME))
		return 0;
	assert(image.guest.n_saved <= CHAIN_SAVED);
	assert(image.guest.back > 8 * image.guest.n_saved && image.guest.back % 8 == 0);
	assert(image.guest.fp <= 0 && image.guest.fp >= -8 * image.guest.n_saved);
	return 0;
}
