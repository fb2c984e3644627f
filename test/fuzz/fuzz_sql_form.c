/* Fields of a form lie inside its body, end there, and are no longer than it. */
#include <assert.h>

#include "cluster-agent/sql/sql_form.h"

struct body {
	const char *data;
	size_t len;
};

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static int check(void *ctx, const char *name, const char *value)
{
	const struct body *b = ctx;

	assert(name >= b->data && value >= b->data);
	assert(name + strlen(name) < b->data + b->len);
	assert(value + strlen(value) < b->data + b->len);
	return 0;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	/* without a byte behind it, so that reading on is noticed */
	AUTO_FREE char *copy = malloc(size > 0 ? size : 1);
	struct body b = {copy, size};
	int r;

	if (!copy)
		return 0;
	memcpy(copy, data, size);
	r = sql_form_split("multipart/form-data; boundary=X", copy, size, check, &b);
	assert(r <= 0);
	return 0;
}
