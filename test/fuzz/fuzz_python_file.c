/*
 * Any bytes as an ELF file that may have CPython (test/lib/python_file.h). What is found of it can
 * be walked: ranges ascend, and offsets are in the words of a frame.
 */
#include <assert.h>

#include "node-agent/interpreter/python/python_interpreter.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void check_frames(const struct chain_frames *f)
{
	unsigned end = f->from + f->n_bytes;

	assert(f->n_bytes % 8 == 0 && f->n_bytes <= CHAIN_FRAME_WORDS * 8);
	assert(f->code >= f->from && f->code < end && (f->code - f->from) % 8 == 0);
	assert(f->at >= f->from && f->at < end && (f->at - f->from) % 8 == 0);
	assert(f->next >= f->from && (unsigned)f->next < end && (f->next - f->from) % 8 == 0);
	assert(f->end >= f->from && f->end < end && (f->end - f->from) % 8 == 0);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	static struct elf_layout layout;
	static struct interpreter_image image;
	struct byte_source src;

	byte_source_from_memory(&src, data, size);
	if (elf_layout_parse(&layout, &src) < 0 ||
	    python_interpreter_ops.recognise(&layout, &src, &image) < 0)
		return 0;
	assert(image.n_loops > 0 && image.n_loops <= CHAIN_RANGES);
	for (uint32_t i = 0; i < image.n_loops; i++) {
		assert(image.loops[i].start < image.loops[i].end);
		assert(i == 0 || image.loops[i].start > image.loops[i - 1].end);
	}
	assert(image.roots[0].kind != INTERPRETER_ROOT_NONE);
	check_frames(&image.frames);
	return 0;
}
