/* Any body of multipart/form-data, after a line with its Content-Type: parts lie within it. */
#include <assert.h>
#include <errno.h>

#include "common/http/multipart.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	const uint8_t *newline = memchr(data, '\n', size);
	const char *body = newline ? (const char *)newline + 1 : "", *last = body;
	size_t len = newline ? size - (size_t)(newline + 1 - data) : 0;
	struct multipart_reader m;
	struct multipart_part p;
	char type[256];
	int r;

	snprintf(type, sizeof(type), "%.*s", newline ? (int)(newline - data) : 0,
		 (const char *)data);
	r = multipart_begin(&m, type);
	if (r <= 0)
		return 0;
	m.p = body;
	m.end = body + len;
	while ((r = multipart_next(&m, &p)) > 0) {
		/* with a byte behind each that is part of neither */
		assert(p.name >= body && p.name + p.name_len < p.data);
		assert(p.data >= last && p.data + p.len < body + len);
		last = p.data + p.len;
	}
	assert(r == 0 || r == -EBADMSG);
	return 0;
}
