/* Any bytes as the memory of a process with functions of LuaJIT (test/lib/luajit_image.h). */
#include <assert.h>

#include "common/text/utf8.h"
#include "test/lib/luajit_image.h"

#define READS_MAX 65536u

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void check_text(const char *text, size_t cap)
{
	size_t len = strnlen(text, cap);

	assert(len < cap && utf8_is_valid(text, len));
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	static struct luajit_image image;
	const struct interpreter_memory memory = {luajit_image_read, &image};
	struct interpreter_name name;

	luajit_image_fill(&image);
	memcpy(image.bytes, data, size < LUAJIT_IMAGE_BYTES ? size : LUAJIT_IMAGE_BYTES);
	for (unsigned at = 0; at < LUAJIT_IMAGE_INSTRUCTIONS; at++) {
		struct interpreter_frame f = luajit_image_frame(&image, at);

		image.n_reads = 0;
		f.at |= at == 0 ? CHAIN_AT_TRACE : 0;
		(void)!lua_name_read(&luajit_image_layout, &memory, &f, &name);
		check_text(name.function, sizeof(name.function));
		check_text(name.file, sizeof(name.file));
		assert(image.n_reads <= READS_MAX);
	}
	return 0;
}
