#include <assert.h>

#include "common/flame/frame_text.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

/* The parts lie inside the text and in order, and a split text gives itself back. */
int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	const char *text = (const char *)data;
	struct frame_text t;

	frame_text_split(&t, text, size);
	assert(t.name == text && t.name_len <= size && t.line >= 0);
	assert(t.file >= text + t.name_len && t.file_len <= (size_t)(text + size - t.file));
	if (t.file == text + size) {
		assert(t.name_len == size && t.file_len == 0 && !t.inlined);
	} else {
		assert(text[t.name_len] == ' ' && t.file == text + t.name_len + 1);
		assert(t.file[t.file_len] == ':' && !memchr(t.file, ' ', t.file_len));
	}
	return 0;
}
