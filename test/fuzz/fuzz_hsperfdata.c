#include <assert.h>

#include "common/text/utf8.h"
#include "node-agent/java/vm/hsperfdata.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

/* What becomes a label is text of limited length, and a time can be computed from every count. */
int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct hsperfdata h;

	if (hsperfdata_parse(data, size, &h) < 0)
		return 0;
	assert(h.ticks_per_second > 0);
	assert(h.n_collectors <= HSPERFDATA_COLLECTORS_MAX);
	assert(utf8_is_valid(h.command, strnlen(h.command, sizeof(h.command))));
	assert(strnlen(h.command, sizeof(h.command)) < sizeof(h.command));
	assert(strnlen(h.java_version, sizeof(h.java_version)) < sizeof(h.java_version));
	for (size_t i = 0; i < h.n_collectors; i++) {
		const char *name = h.collectors[i].name;
		size_t len = strnlen(name, sizeof(h.collectors[i].name));

		assert(len > 0 && len < sizeof(h.collectors[i].name) && utf8_is_valid(name, len));
	}
	return 0;
}
