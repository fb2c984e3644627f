#include <assert.h>

#include "common/flame/frame_text.h"
#include "common/pprof/code_file.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

/* What is found of a frame without a name gives the frame back. */
static void check_code_file(const struct frame_text *t)
{
	const struct profile_string name = {t->name, (uint32_t)t->name_len};
	const struct profile_string module = {t->file, (uint32_t)t->file_len};
	struct profile_string file, build_id;
	struct code_place_text place;

	if (!code_file_parse(name, module, &place))
		return;
	file = place.file;
	build_id = place.build_id;
	assert(file.len > 0 && build_id.len > 0 && file.len + build_id.len + 3 == module.len);
	assert(memcmp(file.data, name.data, file.len) == 0);
	assert(name.len > file.len + 3 && name.len <= file.len + 3 + 16);
}

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
	check_code_file(&t);
	return 0;
}
