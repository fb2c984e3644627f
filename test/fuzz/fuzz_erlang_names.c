/* Any bytes as the memory of a process with a module of Erlang (test/lib/erlang_image.h). */
#include <assert.h>

#include "common/text/utf8.h"
#include "node-agent/interpreter/erlang/erlang_names.h"
#include "test/lib/erlang_image.h"

/* Three searches of up to 23 steps, and a name whose cells are anywhere. */
#define READS_MAX (3u * 23u + 32u + 2u * INTERPRETER_FILE_BYTES)
#define BYTES_MAX (READS_MAX * 512u)

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void check_text(const char *text, size_t cap)
{
	size_t len = strnlen(text, cap);

	assert(len < cap && utf8_is_valid(text, len));
}

static void read_name(struct erlang_image *image, unsigned place)
{
	const struct interpreter_memory memory = {erlang_image_read, image};
	const struct interpreter_frame f = erlang_image_frame(image, place);
	struct interpreter_name name;

	image->n_reads = 0;
	image->n_read = 0;
	(void)!erlang_name_read(&erlang_image_layout, ERLANG_IMAGE_BIAS, &memory, &f, &name);
	check_text(name.function, sizeof(name.function));
	check_text(name.file, sizeof(name.file));
	assert(image->n_reads <= READS_MAX && image->n_read <= BYTES_MAX);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	static struct erlang_image image;

	erlang_image_fill(&image);
	memcpy(image.bytes, data, size < ERLANG_IMAGE_BYTES ? size : ERLANG_IMAGE_BYTES);
	read_name(&image, ERLANG_IMAGE_PAY + 70);
	read_name(&image, ERLANG_IMAGE_SIZE);
	read_name(&image, ERLANG_IMAGE_SHARED);
	return 0;
}
