#include <assert.h>

#include "cluster-agent/web/web_params.h"
#include "common/system/clock.h"

#define NOW_MS INT64_C(1700000000000)

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

/* The endpoint, then names and values, each ended by a NUL. */
static size_t split(char *text, size_t size, struct web_param_text texts[WEB_PARAMS_MAX])
{
	size_t n = 0, at = 0;

	while (n < WEB_PARAMS_MAX && at < size) {
		texts[n].name = text + at;
		at += strlen(text + at) + 1;
		if (at >= size)
			break;
		texts[n].value = text + at;
		at += strlen(text + at) + 1;
		n++;
	}
	return n;
}

static void check_range(const struct query_filter *f)
{
	assert(f->from_ns >= 0 && f->from_ns < f->to_ns);
	assert(f->to_ns - f->from_ns <= INT64_C(366) * 86400 * (int64_t)NS_PER_S);
}

/* A question is within its limits, or refused with a sentence. */
int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	static struct query_request p;
	struct web_param_text texts[WEB_PARAMS_MAX];
	struct err err = {""};
	char *text;
	size_t n;

	if (size == 0)
		return 0;
	text = malloc(size);
	assert(text);
	memcpy(text, data + 1, size - 1);
	text[size - 1] = '\0';
	n = split(text, size, texts);
	if (web_params_parse(&p, data[0] % WEB_ENDPOINT_MAX, texts, n, NOW_MS, &err) < 0) {
		assert(err.msg[0] && !strchr(err.msg, '\n'));
	} else {
		check_range(&p.filter);
		check_range(&p.base);
		assert(p.n_points <= 5000 && p.max_nodes <= 200000 && p.limit <= 200000);
		assert(!p.filter.where || p.filter.where == &p.where);
		assert(!p.base.where || p.base.where == &p.where || p.base.where == &p.base_where);
	}
	free(text);
	return 0;
}
