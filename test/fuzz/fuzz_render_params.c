#include <assert.h>

#include "cluster-agent/pyroscope/render_params.h"

#define NOW_MS INT64_C(1700000000000)

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

/* One text as a query and as a time. */
int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	AUTO_FREE char *text = malloc(size + 1);
	static struct render_query q;
	struct err err = {""};
	int64_t ms;

	assert(text);
	memcpy(text, data, size);
	text[size] = '\0';
	if (render_query_parse(&q, text, &err) < 0) {
		assert(err.msg[0]);
	} else {
		assert(q.selector >= text && q.selector <= text + size);
		assert(strlen(q.type_id) < RENDER_MAX_TYPE_BYTES);
	}
	if (render_time_parse(text, NOW_MS, &ms) == 0)
		assert(ms >= 0);
	return 0;
}
