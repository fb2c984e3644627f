#include <errno.h>

#include "common/limits.h"
#include "common/protobuf/json_message.h"
#include "proto/otlp_profiles.pb-c.h"
#include "test/lib/unit.h"

#define REQUEST (&otlp__export_profiles_service_request__descriptor)

static struct err err;

static Otlp__ExportProfilesServiceRequest *read_json(const char *json)
{
	CLEANUP(buf_fini) struct buf out;
	ProtobufCMessage *m;

	buf_init(&out, MIB);
	err.msg[0] = '\0';
	assert_int_equal(json_message_encode(REQUEST, json, strlen(json), &out, &err), 0);
	m = protobuf_c_message_unpack(REQUEST, NULL, out.len, (const uint8_t *)out.data);
	assert_non_null(m);
	return (Otlp__ExportProfilesServiceRequest *)m;
}

static int refuse(const ProtobufCMessageDescriptor *type, const char *json)
{
	CLEANUP(buf_fini) struct buf out;

	buf_init(&out, MIB);
	err.msg[0] = '\0';
	return json_message_encode(type, json, strlen(json), &out, &err);
}

TEST(fields_are_found_under_both_of_their_names)
{
	Otlp__ExportProfilesServiceRequest *m = read_json(
		"{\"dictionary\":{\"mappingTable\":[{},{\"memoryStart\":\"18446744073709551615\","
		"\"file_offset\":7,\"attributeIndices\":[1,-1]}],\"nothing\":[{}]}}");
	const Otlp__Mapping *map;

	assert_int_equal(m->dictionary->n_mapping_table, 2);
	map = m->dictionary->mapping_table[1];
	assert_true(map->memory_start == UINT64_MAX);
	assert_int_equal(map->file_offset, 7);
	assert_int_equal(map->n_attribute_indices, 2);
	assert_int_equal(map->attribute_indices[1], -1);
	protobuf_c_message_free_unpacked(&m->base, NULL);
}

TEST(values_of_all_kinds_arrive)
{
	Otlp__ExportProfilesServiceRequest *m =
		read_json("{\"resourceProfiles\":[{\"resource\":{\"attributes\":["
			  "{\"key\":\"a\\u00e9\\u0000b\",\"value\":{\"doubleValue\":-0.5}},"
			  "{\"key\":\"i\",\"value\":{\"intValue\":\"-9223372036854775808\"}},"
			  "{\"key\":\"x\",\"value\":{\"bytesValue\":\"_-8\"}},"
			  "{\"key\":\"f\",\"value\":{\"boolValue\":false}},"
			  "{\"key\":\"z\",\"value\":null}]}}]}");
	Otlp__KeyValue **a = m->resource_profiles[0]->resource->attributes;

	assert_memory_equal(a[0]->key, "a\xc3\xa9", 3);
	assert_true(a[0]->value->double_value == -0.5);
	assert_true(a[1]->value->int_value == INT64_MIN);
	assert_int_equal(a[2]->value->bytes_value.len, 2);
	assert_memory_equal(a[2]->value->bytes_value.data, "\xff\xef", 2);
	/* a member of a oneof is there although it has its default */
	assert_int_equal(a[3]->value->value_case, OTLP__ANY_VALUE__VALUE_BOOL_VALUE);
	assert_null(a[4]->value);
	protobuf_c_message_free_unpacked(&m->base, NULL);
}

TEST(what_does_not_fit_is_refused_with_the_name_of_its_field)
{
	static const struct {
		const char *json, *text;
	} cases[] = {
		{"[]", "not a JSON object"},
		{"{\"a\":", "not JSON"},
		{"{} {}", "not JSON"},
		{"{\"resourceProfiles\":{}}", "resource_profiles is not an array"},
		{"{\"dictionary\":{\"stringTable\":[1]}}", "string_table is not a text"},
		{"{\"dictionary\":{\"stackTable\":[{\"locationIndices\":[2147483648]}]}}",
		 "32 bits"},
		{"{\"dictionary\":{\"stackTable\":[{\"locationIndices\":[0.5]}]}}", "whole number"},
		{"{\"dictionary\":{\"stackTable\":[[]]}}", "stack_table is not an object"},
		{"{\"dictionary\":{\"linkTable\":[{\"spanId\":\"=\"}]}}", "span_id is not base64"},
		{"{\"dictionary\":{\"mappingTable\":[{\"memoryStart\":-1}]}}", "at least 0"},
	};

	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		assert_int_equal(refuse(REQUEST, cases[i].json), -EBADMSG);
		if (!strstr(err.msg, cases[i].text))
			fail_msg("%s: %s", cases[i].json, err.msg);
	}
}

TEST(deep_and_long_texts_meet_a_limit)
{
	static char deep[64 * 1024], many[JSON_MESSAGE_MAX_VALUES + 100];
	size_t n = 0;

	for (unsigned i = 0; i < 200; i++)
		n += (size_t)snprintf(deep + n, sizeof(deep) - n, "{\"arrayValue\":{\"values\":[");
	for (unsigned i = 0; i < 200; i++)
		n += (size_t)snprintf(deep + n, sizeof(deep) - n, "]}}");
	assert_int_equal(refuse(&otlp__any_value__descriptor, deep), -EBADMSG);
	memset(many, ',', sizeof(many) - 1);
	assert_int_equal(refuse(REQUEST, many), -EFBIG);
}

static int encode_some(void *arg)
{
	(void)arg;
	return refuse(&otlp__any_value__descriptor,
		      "{\"arrayValue\":{\"values\":[{\"bytesValue\":\"AQID\"}]}}");
}

TEST(survives_failing_allocations)
{
	check_oom(encode_some, NULL);
}
