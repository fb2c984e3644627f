/*
 * Any bytes as an ELF file that may have Ruby, as test/unit/test_ruby_interpreter.c makes them.
 * What is found of it can be walked: ranges ascend.
 */
#include <assert.h>

#include "node-agent/interpreter/ruby/ruby_interpreter.h"
#include "node-agent/interpreter/thread_variable.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	static struct elf_layout layout;
	static struct interpreter_image image;
	struct thread_variable variable;
	struct byte_source src;

	byte_source_from_memory(&src, data, size);
	if (elf_layout_parse(&layout, &src) < 0 ||
	    ruby_interpreter_ops.recognise(&layout, &src, &image) < 0)
		return 0;
	assert(image.n_loops > 0 && image.n_loops <= CHAIN_RANGES);
	for (uint32_t i = 0; i < image.n_loops; i++) {
		assert(image.loops[i].start < image.loops[i].end);
		assert(i == 0 || image.loops[i].start > image.loops[i - 1].end);
	}
	assert(image.roots[0].kind != INTERPRETER_ROOT_NONE);
	if (image.roots[0].kind == INTERPRETER_ROOT_GETTER)
		(void)!thread_variable_of_getter(&layout, &src, image.roots[0].vaddr, &variable);
	return 0;
}
