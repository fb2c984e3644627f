/* Any bytes as the memory of a process with .NET (test/lib/dotnet_memory.h). */
#include <assert.h>

#include "common/text/utf8.h"
#include "node-agent/interpreter/dotnet/dotnet_frame.h"
#include "test/lib/dotnet_memory.h"

/* A list of fragments, a map of 4 MiB of code, and what a name is made of in metadata. */
#define READS_MAX (3u * 64u + 128u + 2048u)
#define BYTES_MAX (2u << 20)

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void check_text(const char *text, size_t cap)
{
	size_t len = strnlen(text, cap);

	assert(len < cap && utf8_is_valid(text, len));
}

static void read_name(struct dotnet_image *image, unsigned place)
{
	const struct interpreter_memory memory = {dotnet_image_read, image};
	const struct interpreter_frame f = dotnet_image_frame(image, place);
	struct dotnet_layout layout = dotnet_image_layout;
	struct interpreter_name name;

	for (unsigned i = 0; i < 2; i++) {
		layout.method_map = i == 0 ? DOTNET_MAP_BACKWARD : DOTNET_MAP_DIRECT;
		image->n_reads = 0;
		image->n_read = 0;
		(void)!dotnet_frame_name(&layout, DOTNET_IMAGE_BIAS, &memory, &f, &name);
		check_text(name.function, sizeof(name.function));
		check_text(name.file, sizeof(name.file));
		assert(image->n_reads <= READS_MAX && image->n_read <= BYTES_MAX);
	}
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	static struct dotnet_image image;

	dotnet_image_fill(&image);
	memcpy(image.bytes, data, size < DOTNET_IMAGE_BYTES ? size : DOTNET_IMAGE_BYTES);
	read_name(&image, DOTNET_IMAGE_PAY + 10);
	read_name(&image, DOTNET_IMAGE_STUB + 8);
	read_name(&image, DOTNET_IMAGE_CODE_END - 8);
	read_name(&image, DOTNET_IMAGE_STUBS + 8);
	read_name(&image, DOTNET_IMAGE_ASSEMBLY + 8);
	return 0;
}
