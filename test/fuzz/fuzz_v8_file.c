/* Any bytes as the first part of an ELF file that may have V8 (test/lib/v8_file.h). */
#include <assert.h>

#include "node-agent/interpreter/v8/v8_interpreter.h"
#include "test/lib/v8_file.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	static uint8_t bytes[V8_FILE_BYTES];
	static struct elf_layout layout;
	static struct interpreter_image image;
	struct byte_source src;

	if (size > ELF_BUILDER_BYTES)
		size = ELF_BUILDER_BYTES;
	memset(bytes, 0, ELF_BUILDER_BYTES);
	memcpy(bytes, data, size);
	byte_source_from_memory(&src, bytes, sizeof(bytes));
	if (elf_layout_parse(&layout, &src) < 0 ||
	    v8_interpreter_ops.recognise(&layout, &src, &image) < 0)
		return 0;
	assert(image.v8.release >= 804 && image.v8.n_bytecodes <= 256);
	assert(image.n_loops == 0 || image.loops[0].start < image.loops[0].end);
	return 0;
}
