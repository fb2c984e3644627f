/* Any bytes as the memory of a process with a sub of Perl (test/lib/perl_image.h). */
#include <assert.h>

#include "common/text/utf8.h"
#include "node-agent/interpreter/perl/perl_names.h"
#include "test/lib/perl_image.h"

#define READS_MAX 64u
#define BYTES_MAX 8192u

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void check_text(const char *text, size_t cap)
{
	size_t len = strnlen(text, cap);

	assert(len < cap && utf8_is_valid(text, len));
}

static void read_name(struct perl_image *image, unsigned place, uint64_t kind)
{
	const struct interpreter_memory memory = {perl_image_read, image};
	const struct interpreter_frame f = perl_image_frame(image, place, kind);
	struct interpreter_name name;

	for (unsigned i = 0; i < 4; i++) {
		const struct perl_layout layout = {.threaded = i & 1, .name_in_body = i & 2};

		image->n_reads = 0;
		image->n_read = 0;
		(void)!perl_name_read(&layout, &memory, &f, &name);
		check_text(name.function, sizeof(name.function));
		check_text(name.file, sizeof(name.file));
		assert(image->n_reads <= READS_MAX && image->n_read <= BYTES_MAX);
	}
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	static struct perl_image image;

	perl_image_fill(&image);
	memcpy(image.bytes, data, size < PERL_IMAGE_BYTES ? size : PERL_IMAGE_BYTES);
	read_name(&image, PERL_IMAGE_GV, 0);
	read_name(&image, PERL_IMAGE_CV, 0);
	read_name(&image, PERL_IMAGE_END, 0);
	read_name(&image, PERL_IMAGE_END, chain_code_of_kind(PERL_CONTEXT_EVAL, 1));
	return 0;
}
