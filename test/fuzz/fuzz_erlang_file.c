/* Any bytes as an ELF file that may have Erlang, as test/unit/test_erlang_interpreter.c has it. */
#include <assert.h>

#include "node-agent/interpreter/erlang/erlang_interpreter.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	static struct elf_layout layout;
	static struct interpreter_image image;
	struct byte_source src;

	byte_source_from_memory(&src, data, size);
	if (elf_layout_parse(&layout, &src) < 0 ||
	    erlang_interpreter_ops.recognise(&layout, &src, &image) < 0)
		return 0;
	assert(image.n_loops > 0 && image.loops[0].start < image.loops[0].end);
	assert(image.roots[0].kind == INTERPRETER_ROOT_KEY && image.scan.end > image.scan.lowest);
	return 0;
}
