#include <assert.h>

#include "cluster-agent/query/tree/function_search.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

/* Input: a search, NUL, and a name. What is refused has a reason. */
int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	CLEANUP(function_search_freep) struct function_search *s = NULL;
	AUTO_FREE char *text = malloc(size + 1);
	struct err err = {""};
	size_t len;
	int r;

	assert(text);
	memcpy(text, data, size);
	text[size] = '\0';
	len = strlen(text);
	if (function_search_new(&s, text, &err) < 0) {
		assert(err.msg[0]);
		return 0;
	}
	r = len < size ? function_search_test(s, text + len + 1, size - len - 1, "f.c", 3, &err)
		       : 0;
	assert(r == 0 || r == 1 || err.msg[0]);
	return 0;
}
