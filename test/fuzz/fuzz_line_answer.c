/* Any bytes as an answer about lines: texts are terminated, and the answer has a message again. */
#include <assert.h>

#include "node-agent/lines/line_answer.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	static uint8_t message[LINE_ANSWER_MESSAGE_MAX_BYTES];
	static struct line_answer a;

	if (line_answer_parse(&a, data, size) < 0)
		return 0;
	assert(a.n <= LINE_ANSWER_FRAMES_MAX && a.text_bytes <= LINE_ANSWER_TEXT_BYTES);
	assert(line_answer_encode(&a, message) == size);
	assert(memcmp(message, data, size) == 0);
	return 0;
}
