#include <errno.h>

#include "cluster-agent/pyroscope/connect_message.h"
#include "common/protobuf/message_json.h"
#include "proto/querier.pb-c.h"
#include "test/lib/unit.h"

#define TYPE (&querier__v1__select_merge_stacktraces_request__descriptor)

TEST(codecs_are_named_by_the_content_type)
{
	assert_int_equal(connect_codec_find("application/proto"), CONNECT_PROTO);
	assert_int_equal(connect_codec_find("application/json; charset=utf-8"), CONNECT_JSON);
	assert_int_equal(connect_codec_find("Application/JSON"), CONNECT_JSON);
	assert_int_equal(connect_codec_find(NULL), CONNECT_JSON);
	assert_int_equal(connect_codec_find("application/protobuf"), CONNECT_CODEC_MAX);
	assert_int_equal(connect_codec_find("application/grpc-web+proto"), CONNECT_CODEC_MAX);
	assert_int_equal(connect_codec_find(""), CONNECT_CODEC_MAX);
}

TEST(both_codecs_are_the_same_message)
{
	static const char json[] = "{\"profile_typeID\":\"a:b:c\",\"start\":1700000000000,"
				   "\"end\":\"1700000060000\",\"maxNodes\":\"5\","
				   "\"stackTraceSelector\":{\"call_site\":[{\"name\":\"main\"}]},"
				   "\"format\":\"PROFILE_FORMAT_PPROF\",\"more\":{}}";
	static const char same[] = "{\"profileTypeID\":\"a:b:c\",\"start\":\"1700000000000\","
				   "\"end\":\"1700000060000\",\"maxNodes\":\"5\","
				   "\"format\":\"PROFILE_FORMAT_PPROF\","
				   "\"stackTraceSelector\":{\"callSite\":[{\"name\":\"main\"}]}}";
	CLEANUP(connect_request_fini) struct connect_request r, again;
	CLEANUP(buf_fini) struct buf bytes, text;

	buf_init(&bytes, 4096);
	buf_init(&text, 4096);
	assert_int_equal(connect_request_decode(&r, TYPE, CONNECT_JSON, json, strlen(json), NULL),
			 0);
	assert_int_equal(connect_encode(r.message, CONNECT_PROTO, &bytes), 0);
	assert_int_equal(
		connect_request_decode(&again, TYPE, CONNECT_PROTO, bytes.data, bytes.len, NULL),
		0);
	assert_int_equal(connect_encode(again.message, CONNECT_JSON, &text), 0);
	assert_string_equal(text.data, same);
}

TEST(no_body_is_a_message_without_fields)
{
	CLEANUP(connect_request_fini) struct connect_request r, s;

	assert_int_equal(connect_request_decode(&r, TYPE, CONNECT_JSON, NULL, 0, NULL), 0);
	assert_int_equal(connect_request_decode(&s, TYPE, CONNECT_PROTO, NULL, 0, NULL), 0);
	assert_string_equal(
		((Querier__V1__SelectMergeStacktracesRequest *)s.message)->label_selector, "");
}

TEST(what_is_no_message_has_a_sentence)
{
	CLEANUP(connect_request_fini) struct connect_request r, s;
	struct err err = {""};

	assert_int_equal(connect_request_decode(&r, TYPE, CONNECT_PROTO, "\x0a\x7f", 2, &err),
			 -EINVAL);
	assert_string_equal(err.msg, "the body is not a querier.v1.SelectMergeStacktracesRequest");
	err.msg[0] = '\0';
	assert_int_equal(connect_request_decode(&s, TYPE, CONNECT_JSON, "[1", 2, &err), -EINVAL);
	assert_true(err.msg[0]);
}

static int decode_and_encode(void *arg)
{
	static const char json[] = "{\"matchers\":[\"{}\"],\"name\":\"pod\"}";
	const ProtobufCMessageDescriptor *type = &querier__v1__label_values_request__descriptor;
	CLEANUP(connect_request_fini) struct connect_request r;
	CLEANUP(buf_fini) struct buf out;
	int e;

	(void)arg;
	buf_init(&out, 4096);
	e = connect_request_decode(&r, type, CONNECT_JSON, json, strlen(json), NULL);
	if (e == 0)
		e = connect_encode(r.message, CONNECT_JSON, &out);
	/* protobuf-c does not say that memory was missing */
	return e == -EINVAL ? -ENOMEM : e;
}

TEST(missing_memory_is_an_error)
{
	check_oom(decode_and_encode, NULL);
}

TEST(errors_have_the_codes_of_the_protocol)
{
	static const struct {
		int error;
		const char *code;
		unsigned status;
	} cases[] = {
		{-EINVAL, "invalid_argument", 400}, {-EFBIG, "resource_exhausted", 429},
		{-ENOSYS, "unimplemented", 501},    {-EAGAIN, "unavailable", 503},
		{-ENOMEM, "unavailable", 503},      {-ECANCELED, "canceled", 499},
		{-EREMOTEIO, "internal", 500},
	};
	CLEANUP(buf_fini) struct buf b;

	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		assert_string_equal(connect_error_of(cases[i].error).code, cases[i].code);
		assert_int_equal(connect_error_of(cases[i].error).status, cases[i].status);
	}
	buf_init(&b, 256);
	assert_int_equal(connect_error_write("internal", "a \"b\"", &b), 0);
	assert_string_equal(b.data, "{\"code\":\"internal\",\"message\":\"a \\\"b\\\"\"}");
}

TEST(numbers_lists_and_defaults_are_as_protobuf_writes_them)
{
	CLEANUP(buf_fini) struct buf out;
	Querier__V1__Point point = QUERIER__V1__POINT__INIT, *points[] = {&point};
	Querier__V1__Series series = QUERIER__V1__SERIES__INIT;
	Querier__V1__GetProfileStatsResponse stats = QUERIER__V1__GET_PROFILE_STATS_RESPONSE__INIT;

	buf_init(&out, 4096);
	point.value = 0.5;
	point.timestamp = INT64_MIN;
	series.points = points;
	series.n_points = 1;
	assert_int_equal(message_json_write(&series.base, &out), 0);
	assert_string_equal(
		out.data, "{\"points\":[{\"value\":0.5,\"timestamp\":\"-9223372036854775808\"}]}");
	buf_truncate(&out, 0);
	stats.data_ingested = true;
	assert_int_equal(message_json_write(&stats.base, &out), 0);
	assert_string_equal(out.data, "{\"dataIngested\":true}");
	buf_truncate(&out, 0);
	out.limit = 10;
	assert_int_equal(message_json_write(&series.base, &out), -EFBIG);
}
