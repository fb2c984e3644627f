/* Any bytes as an ELF file that may have Lua, as test/unit/test_lua_interpreter.c makes them. */
#include <assert.h>

#include "node-agent/interpreter/lua/lua_interpreter.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	static struct elf_layout layout;
	static struct interpreter_image image;
	struct byte_source src;
	bool any = false;

	byte_source_from_memory(&src, data, size);
	if (elf_layout_parse(&layout, &src) < 0 ||
	    lua_interpreter_ops.recognise(&layout, &src, &image) < 0)
		return 0;
	assert(image.n_loops > 0 && image.n_loops <= CHAIN_RANGES);
	for (uint32_t i = 0; i < image.n_loops; i++) {
		assert(image.loops[i].start < image.loops[i].end);
		assert(i == 0 || image.loops[i].start > image.loops[i - 1].end);
	}
	for (size_t i = 0; i < CHAIN_SITES; i++)
		any |= image.calls.sites[i].n_bytes != 0;
	assert(any);
	return 0;
}
