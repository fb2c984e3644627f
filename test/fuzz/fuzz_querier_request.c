#include <assert.h>
#include <errno.h>

#include "cluster-agent/pyroscope/connect_message.h"
#include "cluster-agent/pyroscope/querier_methods.h"
#include "common/system/clock.h"
#include "proto/querier.pb-c.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

/* What a selector says is within its storage, each condition in one of its lists. */
static void check_selector(const char *text)
{
	static struct series_selector s;
	struct err err = {""};

	if (series_selector_parse(&s, text, &err) < 0) {
		assert(err.msg[0]);
		return;
	}
	assert(s.labels.n_items + s.series.n_items <= LABEL_MATCHERS_MAX);
	for (size_t i = 0; i < s.series.n_items; i++) {
		const char *value = s.series.items[i].value;

		assert(value == s.type || (value >= s.labels.texts &&
					   value < s.labels.texts + sizeof(s.labels.texts)));
	}
}

static void check_range(int64_t start, int64_t end)
{
	const struct querier_call c = {.now_ms = INT64_C(1700000000000)};
	struct query_filter f;
	struct err err = {""};

	if (querier_range(&c, start, end, &f, &err) < 0) {
		assert(err.msg[0]);
		return;
	}
	assert(f.from_ns >= 0 && f.from_ns < f.to_ns);
	assert(f.to_ns - f.from_ns <= INT64_C(366) * 86400 * (int64_t)NS_PER_S);
}

static void check_stacktraces(const Querier__V1__SelectMergeStacktracesRequest *m)
{
	struct profile_id_types types;

	check_range(m->start, m->end);
	check_selector(m->label_selector);
	if (profile_id_types(&types, m->profile_typeid) == 0)
		assert(types.n_items > 0 && types.n_items <= PROFILE_ID_MAX_TYPES);
}

/* The JSON of a message is the same message. */
static void check_json(const ProtobufCMessage *m)
{
	CLEANUP(buf_fini) struct buf packed, json, again;
	CLEANUP(connect_request_fini) struct connect_request r;

	buf_init(&packed, 64 * CONNECT_MAX_REQUEST_BYTES);
	buf_init(&json, CONNECT_MAX_REQUEST_BYTES);
	buf_init(&again, 64 * CONNECT_MAX_REQUEST_BYTES);
	assert(connect_encode(m, CONNECT_PROTO, &packed) == 0);
	if (connect_encode(m, CONNECT_JSON, &json) < 0 ||
	    connect_request_decode(&r, m->descriptor, CONNECT_JSON, json.data, json.len, NULL) < 0)
		return; /* too long as JSON, a text that JSON forbids, or a number that is none */
	assert(connect_encode(r.message, CONNECT_PROTO, &again) == 0);
	assert(again.len == packed.len || memchr(json.data, '?', json.len) ||
	       strstr(json.data, "null") || strstr(json.data, "\\u") || strstr(json.data, "-0"));
}

/* The method, the codec, and a body. */
int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	CLEANUP(connect_request_fini) struct connect_request r = {.message = NULL};
	const struct querier_method *methods;
	const ProtobufCMessageDescriptor *type;
	struct err err = {""};
	size_t n;
	int e;

	if (size < 2)
		return 0;
	methods = querier_methods(&n);
	type = methods[data[0] % n].request;
	e = connect_request_decode(&r, type, data[1] % CONNECT_CODEC_MAX, data + 2, size - 2, &err);
	if (e < 0) {
		assert(e == -ENOMEM || (e == -EINVAL && err.msg[0]));
		return 0;
	}
	check_json(r.message);
	if (type == &querier__v1__select_merge_stacktraces_request__descriptor)
		check_stacktraces((const void *)r.message);
	return 0;
}
