#include <assert.h>

#include "cluster-agent/query/read/label_matchers.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

/* Accepted texts lie within the storage and have names. Refused ones have a reason. */
int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	AUTO_FREE char *text = malloc(size + 1);
	struct label_matchers m;
	struct err err = {""};

	assert(text);
	memcpy(text, data, size);
	text[size] = '\0';
	if (label_matchers_parse(&m, text, &err) < 0) {
		assert(err.msg[0]);
		return 0;
	}
	assert(m.n_items <= LABEL_MATCHERS_MAX);
	for (size_t i = 0; i < m.n_items; i++) {
		const char *end = m.texts + sizeof(m.texts);

		assert(m.items[i].name >= m.texts && m.items[i].name < end && *m.items[i].name);
		assert(m.items[i].value >= m.texts && m.items[i].value < end);
		assert(memchr(m.items[i].value, '\0', (size_t)(end - m.items[i].value)));
	}
	return 0;
}
