#include <assert.h>

#include "cluster-agent/scrape/scrape_answer.h"
#include "common/text/utf8.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void check(const char *text)
{
	assert(utf8_is_valid(text, strlen(text)));
	for (; *text; text++)
		assert((unsigned char)*text >= ' ' && *text != 0x7f);
}

/* Whatever a server says, what we say of it is one printable line. */
int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	const char *body = (const char *)data;
	char line[ANSWER_LINE_BYTES];
	struct err err = {"the decoder's sentence"};

	scrape_answer_line(line, body, size);
	check(line);
	scrape_answer_explain(body, size, &err);
	check(err.msg);
	assert(err.msg[0]);
	scrape_answer_status(500, body, size, &err);
	check(err.msg);
	return 0;
}
