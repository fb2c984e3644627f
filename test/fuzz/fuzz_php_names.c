/* Any bytes as the memory of a process with a function of PHP (test/lib/php_image.h). */
#include <assert.h>

#include "common/text/utf8.h"
#include "node-agent/interpreter/php/php_names.h"
#include "test/lib/php_image.h"

#define READS_MAX 32u
#define BYTES_MAX 8192u

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void check_text(const char *text, size_t cap)
{
	size_t len = strnlen(text, cap);

	assert(len < cap && utf8_is_valid(text, len));
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	static struct php_image image;
	const struct interpreter_memory memory = {php_image_read, &image};
	struct interpreter_frame f = php_image_frame();
	struct interpreter_name name;

	php_image_fill(&image);
	image.n_bytes = size < PHP_IMAGE_BYTES ? size : PHP_IMAGE_BYTES;
	memcpy(image.bytes, data, image.n_bytes);
	for (unsigned i = 0; i < 2; i++, f.check = php_image_check(&image)) {
		image.n_reads = 0;
		image.n_read = 0;
		(void)!php_name_read(&php_image_layout, &memory, &f, &name);
		check_text(name.function, sizeof(name.function));
		check_text(name.file, sizeof(name.file));
		assert(image.n_reads <= READS_MAX && image.n_read <= BYTES_MAX);
	}
	return 0;
}
