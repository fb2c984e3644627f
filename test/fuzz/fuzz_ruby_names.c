/* Any bytes as the memory of a process with a block of Ruby (test/lib/ruby_image.h). */
#include <assert.h>

#include "common/text/utf8.h"
#include "node-agent/interpreter/ruby/ruby_names.h"
#include "test/lib/ruby_image.h"

#define READS_MAX 400u
#define BYTES_MAX 32768u

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void check_text(const char *text, size_t cap)
{
	size_t len = strnlen(text, cap);

	assert(len < cap && utf8_is_valid(text, len));
}

static void read_name(struct ruby_image *image, const struct ruby_layout *layout,
		      const struct interpreter_frame *f)
{
	const struct interpreter_memory memory = {ruby_image_read, image};
	struct interpreter_name name;

	image->n_reads = 0;
	image->n_read = 0;
	(void)!ruby_name_read(layout, RUBY_IMAGE_BASE, &memory, f, &name);
	check_text(name.function, sizeof(name.function));
	check_text(name.file, sizeof(name.file));
	assert(image->n_reads <= READS_MAX && image->n_read <= BYTES_MAX);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	static struct ruby_image image;
	const struct interpreter_frame code = ruby_image_frame(),
				       method = ruby_image_method_frame();
	struct ruby_layout layout = ruby_image_layout;

	ruby_image_fill(&image);
	image.n_bytes = size < RUBY_IMAGE_BYTES ? size : RUBY_IMAGE_BYTES;
	memcpy(image.bytes, data, image.n_bytes);
	read_name(&image, &layout, &code);
	read_name(&image, &layout, &method);
	layout.class_names = RUBY_CLASS_VARIABLES;
	layout.string_length = false;
	layout.fixnum_line = true;
	read_name(&image, &layout, &code);
	read_name(&image, &layout, &method);
	layout.class_names = RUBY_CLASS_SHAPES;
	layout.machine = RUBY_IMAGE_MACHINE;
	read_name(&image, &layout, &code);
	return 0;
}
