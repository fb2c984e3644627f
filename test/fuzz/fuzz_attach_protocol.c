/* Answers of an attach listener: any bytes, whole or cut off. */
#include <assert.h>

#include "node-agent/java/attach/attach_protocol.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct attach_answer a;
	size_t len;

	attach_protocol_parse(data, size, &a);
	len = strnlen(a.text, sizeof(a.text));
	assert(len < sizeof(a.text));
	for (size_t i = 0; i < len; i++)
		assert(a.text[i] >= ' ' && a.text[i] <= '~');
	assert((a.outcome == ATTACH_EMPTY) == (size == 0));
	return 0;
}
