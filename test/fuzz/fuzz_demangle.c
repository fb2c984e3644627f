/* Any bytes as a mangled name: the result fits, ends, and is printable UTF-8. */
#include <assert.h>

#include "common/symbols/demangle.h"
#include "common/text/utf8.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	char mangled[DEMANGLE_INPUT_MAX_BYTES + 64], name[1025], small[17];
	size_t len;

	if (size >= sizeof(mangled))
		return 0;
	memcpy(mangled, data, size);
	mangled[size] = '\0';
	len = demangle(mangled, name, sizeof(name));
	assert(len < sizeof(name) && strlen(name) == len);
	assert(utf8_make_printable(name, len) == len && !strchr(name, '\n'));
	assert(demangle(mangled, small, sizeof(small)) < sizeof(small));
	return 0;
}
