/* Any bytes as the memory of a process with functions of Lua (test/lib/lua_image.h). */
#include <assert.h>

#include "common/text/utf8.h"
#include "node-agent/interpreter/lua/lua_names.h"
#include "test/lib/lua_image.h"

#define READS_MAX 4096u

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void check_text(const char *text, size_t cap)
{
	size_t len = strnlen(text, cap);

	assert(len < cap && utf8_is_valid(text, len));
}

static void read_name(struct lua_image *image, const struct interpreter_frame *f)
{
	const struct interpreter_memory memory = {lua_image_read, image};
	struct interpreter_name name;

	image->n_reads = 0;
	(void)!lua_name_read(&image->release->layout, &memory, f, &name);
	check_text(name.function, sizeof(name.function));
	check_text(name.file, sizeof(name.file));
	assert(image->n_reads <= READS_MAX);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	static const char *const releases[] = {"Lua 5.1", "Lua 5.2", "Lua 5.3.6", "Lua 5.4",
					       "Lua 5.5"};
	static struct lua_image image;

	for (size_t r = 0; r < ARRAY_SIZE(releases); r++) {
		lua_image_fill(&image, releases[r]);
		memcpy(image.bytes, data, size < LUA_IMAGE_BYTES ? size : LUA_IMAGE_BYTES);
		for (unsigned at = 0; at < LUA_IMAGE_INSTRUCTIONS; at++) {
			const struct interpreter_frame f = lua_image_frame(&image, at);

			read_name(&image, &f);
		}
	}
	return 0;
}
