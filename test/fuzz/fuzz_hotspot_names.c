/* Any bytes as the memory of a JVM with a compiled method (test/lib/hotspot_image.h). */
#include <assert.h>

#include "common/text/utf8.h"
#include "node-agent/interpreter/hotspot/hotspot_names.h"
#include "test/lib/hotspot_image.h"

#define READS_MAX 1000u
#define BYTES_MAX 65536u

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void check_text(const char *text, size_t cap)
{
	size_t len = strnlen(text, cap);

	assert(len < cap && utf8_is_valid(text, len));
}

static void read_name(struct hotspot_image *image, const struct hotspot_layout *layout,
		      const struct interpreter_frame *f)
{
	const struct interpreter_memory memory = {hotspot_image_read, image};
	struct interpreter_name name;

	image->n_reads = 0;
	image->n_read = 0;
	(void)!hotspot_name_read(layout, HOTSPOT_IMAGE_BASE, &memory, f, &name);
	check_text(name.function, sizeof(name.function));
	check_text(name.file, sizeof(name.file));
	assert(image->n_reads <= READS_MAX && image->n_read <= BYTES_MAX);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	static struct hotspot_image image;
	struct hotspot_layout layout = hotspot_image_layout;
	struct interpreter_frame frames[] = {hotspot_image_frame(10, 0), hotspot_image_frame(20, 0),
					     hotspot_image_frame(20, 1),
					     hotspot_image_interpreted(2)};

	hotspot_image_fill(&image);
	image.n_bytes = size < HOTSPOT_IMAGE_BYTES ? size : HOTSPOT_IMAGE_BYTES;
	memcpy(image.bytes, data, image.n_bytes);
	for (size_t i = 0; i < ARRAY_SIZE(frames); i++) {
		frames[i].check = 0; /* it could not be read */
		read_name(&image, &layout, &frames[i]);
	}
	layout.walk.flags = CHAIN_JVM_CODE_OFFSET;
	layout.scopes_pointer = false;
	layout.blob_mutable = 64;
	layout.blob_relocations = 72;
	layout.nmethod_immutable = 80;
	layout.byte_excess = 0;
	for (size_t i = 0; i < ARRAY_SIZE(frames); i++)
		read_name(&image, &layout, &frames[i]);
	return 0;
}
