/* Any body of multipart/form-data, after a line with its Content-Type: parts lie within it. */
#include <assert.h>

#include "cluster-agent/push/multipart_body.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	const uint8_t *newline = memchr(data, '\n', size);
	const char *body = newline ? (const char *)newline + 1 : "", *boundary = NULL;
	size_t len = newline ? size - (size_t)(newline + 1 - data) : 0;
	char type[256];
	struct multipart_body m;
	int n;

	snprintf(type, sizeof(type), "%.*s", newline ? (int)(newline - data) : 0,
		 (const char *)data);
	n = multipart_boundary(type, &boundary);
	if (n <= 0)
		return 0;
	assert(boundary >= type && boundary + n <= type + strlen(type));
	if (multipart_body_parse(&m, boundary, (size_t)n, body, len, NULL) < 0)
		return 0;
	assert(m.n <= MULTIPART_PARTS_MAX);
	for (size_t i = 0; i < m.n; i++) {
		const struct multipart_part *p = &m.parts[i];

		assert(p->name >= body && p->name + p->name_len <= body + len);
		assert(p->data >= body && p->data + p->len <= body + len);
		assert(i == 0 || p->data >= m.parts[i - 1].data + m.parts[i - 1].len);
	}
	return 0;
}
