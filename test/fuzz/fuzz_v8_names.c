/* Any bytes as the memory of a process with a function of V8 (test/lib/v8_image.h). */
#include <assert.h>

#include "common/text/utf8.h"
#include "node-agent/interpreter/v8/v8_code.h"
#include "node-agent/interpreter/v8/v8_names.h"
#include "test/lib/v8_image.h"

#define READS_MAX 6000u

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void check_text(const char *text, size_t cap)
{
	size_t len = strnlen(text, cap);

	assert(len < cap && utf8_is_valid(text, len));
}

static void read_name(struct v8_image *image, const struct v8_layout *layout,
		      struct interpreter_frame f)
{
	const struct interpreter_memory memory = {v8_image_read, image, &image->lines};
	struct interpreter_name name = {0};
	uint32_t n_callers = 0;

	for (f.level = 0; f.level <= n_callers; f.level++) {
		assert(f.level <= V8_INLINED_MAX);
		image->n_reads = 0;
		(void)!v8_name_read(layout, V8_IMAGE_BASE, &memory, &f, &name);
		if (f.level == 0)
			n_callers = name.n_callers;
		check_text(name.function, sizeof(name.function));
		check_text(name.file, sizeof(name.file));
		assert(image->n_reads <= READS_MAX);
	}
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	static struct v8_image image;
	struct v8_layout layout = v8_image_layout;
	struct interpreter_frame f = v8_image_frame(5);

	v8_image_fill(&image);
	image.n_bytes = size < V8_IMAGE_BYTES ? size : V8_IMAGE_BYTES;
	memcpy(image.bytes, data, image.n_bytes);
	read_name(&image, &layout, f);
	f.at = v8_image_at(V8_IMAGE_START) + 20;
	read_name(&image, &layout, f);
	f.code = 0;
	layout.table_of_quarters = true;
	read_name(&image, &layout, f);
	script_lines_fini(&image.lines);
	return 0;
}
