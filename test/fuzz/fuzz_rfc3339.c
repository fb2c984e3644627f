/* Any text as a point in time: one that parses is the same after it is written and parsed again. */
#include "common/text/rfc3339.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	int64_t ns, again;
	char text[32];

	if (rfc3339_parse((const char *)data, size, &ns) < 0)
		return 0;
	rfc3339_format_us(ns, text);
	if (rfc3339_parse(text, strlen(text), &again) < 0 || again > ns || ns - again >= 1000)
		abort();
	return 0;
}
