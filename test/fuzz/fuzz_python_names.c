/*
 * Any bytes as the memory of a process with CPython (test/lib/python_image.h). In front of them are
 * two bytes: the release, and what is lowest of the frame's instruction. With release 14, they are
 * the name of a task.
 */
#include <assert.h>

#include "common/text/utf8.h"
#include "node-agent/interpreter/python/python_names.h"
#include "node-agent/interpreter/python/python_tasks.h"
#include "test/lib/python_image.h"

#define READS_MAX 32u
#define BYTES_MAX (UINT64_C(128) << 10) /* most of it a table of lines */

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void check_text(const char *text, size_t cap)
{
	size_t len = strnlen(text, cap);

	assert(len < cap && utf8_is_valid(text, len));
}

static uint64_t word_at(const struct python_image *image, size_t at)
{
	uint64_t word;

	memcpy(&word, image->bytes + at, sizeof(word));
	return word;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	static struct python_image image;
	const struct interpreter_memory memory = {python_image_read, &image};
	struct interpreter_frame f = {.code = PYTHON_IMAGE_BASE};
	struct python_layout layout;
	struct interpreter_name name;
	struct python_offsets o;

	if (size < 2)
		return 0;
	python_image_fill(&image, &layout);
	if (data[0] == PYTHON_MINOR_TASKS) {
		layout.minor = PYTHON_MINOR_TASKS;
	} else if (data[0] != 12) {
		if (python_offsets_of_release(data[0], &o) < 0)
			return 0;
		layout = o.objects;
		layout.code_type = PYTHON_IMAGE_BASE + IMAGE_TYPES;
	}
	if (data[0] == 11)
		layout.code_copies = 176;
	f.at = layout.index_bytes ? data[1] : f.code + layout.code_bytecode + data[1];
	image.n_bytes = size - 2 < PYTHON_IMAGE_BYTES ? size - 2 : PYTHON_IMAGE_BYTES;
	memcpy(image.bytes, data + 2, image.n_bytes);
	if (layout.minor == PYTHON_MINOR_TASKS) {
		f.at = 1 + data[1] % CHAIN_AT_TASKS_END;
		f.check = chain_check_text(word_at(&image, layout.str_length),
					   word_at(&image, layout.str_ascii));
	}
	(void)!python_name_read(&layout, 0, &memory, &f, &name);
	check_text(name.function, sizeof(name.function));
	check_text(name.file, sizeof(name.file));
	assert(image.n_reads <= READS_MAX && image.n_read <= BYTES_MAX);
	return 0;
}
