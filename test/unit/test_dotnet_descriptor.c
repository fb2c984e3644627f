#include "node-agent/interpreter/dotnet/dotnet_descriptor.h"

#include <errno.h>

#include "test/lib/unit.h"

static struct dotnet_layout layout;
static struct dotnet_description said;

static int parse(const char *text)
{
	memset(&layout, 0, sizeof(layout));
	memset(layout.at, 0xff, sizeof(layout.at));
	return dotnet_description_parse(&layout, text, strlen(text), &said);
}

TEST(fields_are_offsets_with_their_type_or_without)
{
	assert_int_equal(
		parse("{\"types\":{\"MethodDesc\":{\"!\":16,\"ChunkIndex\":2,\"Flags\":[6,"
		      "\"uint16\"]},"
		      "\"MethodDescChunk\":{\"!\":24}},"
		      "\"globals\":{\"MethodDescTokenRemainderBitCount\":[\"0xc\",\"uint8\"]},"
		      "\"contracts\":{\"Loader\":1}}"),
		0);
	assert_int_equal(layout.at[DOTNET_METHOD_INDEX], 2);
	assert_int_equal(layout.at[DOTNET_METHOD_FLAGS], 6);
	assert_int_equal(layout.at[DOTNET_CHUNK_BYTES], 24);
	assert_int_equal(layout.at[DOTNET_METHOD_TOKEN], DOTNET_UNKNOWN);
	assert_int_equal(layout.token_bits, 12);
	assert_false(said.has_code);
	assert_int_equal(said.code_map_variable, -1);
}

TEST(code_is_described_from_net_10_on)
{
	assert_int_equal(parse("{\"types\":{\"RangeSectionFragment\":{\"Next\":0,\"RangeBegin\":8,"
			       "\"RangeEndOpen\":16,\"RangeSection\":24},"
			       "\"RangeSection\":{\"Flags\":16,\"HeapList\":40},"
			       "\"CodeHeapListNode\":{\"MapBase\":32,\"HeaderMap\":40},"
			       "\"RealCodeHeader\":{\"MethodDesc\":24}},"
			       "\"globals\":{\"MethodDescTokenRemainderBitCount\":12,"
			       "\"ExecutionManagerCodeRangeMapAddress\":[[20],\"pointer\"]},"
			       "\"contracts\":{\"ExecutionManager\":2}}"),
			 0);
	assert_true(said.has_code);
	assert_int_equal(said.code_map_variable, 20);
	assert_int_equal(layout.method_map, DOTNET_MAP_DIRECT);
	assert_int_equal(layout.at[DOTNET_HEAP_MAP], 40);
	assert_int_equal(parse("{\"types\":{},\"globals\":{\"ExecutionManagerCodeRangeMapAddress\":"
			       "[3]},\"contracts\":{\"ExecutionManager\":1}}"),
			 0);
	assert_int_equal(said.code_map_variable, 3);
	assert_int_equal(layout.method_map, DOTNET_MAP_BACKWARD);
	/* .NET 11 */
	assert_int_equal(
		parse("{\"types\":{},\"globals\":{},\"contracts\":{\"ExecutionManager\":\"c1\"}}"),
		0);
	assert_int_equal(layout.method_map, DOTNET_MAP_DIRECT);
}

TEST(structures_with_another_meaning_are_refused)
{
	assert_int_equal(
		parse("{\"types\":{},\"globals\":{},\"contracts\":{\"ExecutionManager\":3}}"),
		-ENOTSUP);
	assert_int_equal(
		parse("{\"types\":{},\"globals\":{},\"contracts\":{\"ExecutionManager\":\"c2\"}}"),
		-ENOTSUP);
}

TEST(what_is_no_description_is_refused)
{
	static const char *const texts[] = {
		"",
		"{",
		"[]",
		"{\"types\":[],\"globals\":{},\"contracts\":{}}",
		"{\"types\":{},\"globals\":1,\"contracts\":{}}",
		"{\"types\":{},\"globals\":{}}",
	};

	for (size_t i = 0; i < ARRAY_SIZE(texts); i++)
		assert_int_equal(parse(texts[i]), -EBADMSG);
}

TEST(numbers_that_cannot_be_are_none)
{
	assert_int_equal(parse("{\"types\":{\"MethodDesc\":{\"ChunkIndex\":-1,\"Flags\":70000,"
			       "\"Flags3AndTokenRemainder\":\"4\"}},"
			       "\"globals\":{\"MethodDescTokenRemainderBitCount\":\"0x99\","
			       "\"ExecutionManagerCodeRangeMapAddress\":[[5000],\"pointer\"]},"
			       "\"contracts\":{}}"),
			 0);
	assert_int_equal(layout.at[DOTNET_METHOD_INDEX], DOTNET_UNKNOWN);
	assert_int_equal(layout.at[DOTNET_METHOD_FLAGS], DOTNET_UNKNOWN);
	assert_int_equal(layout.at[DOTNET_METHOD_TOKEN], DOTNET_UNKNOWN);
	assert_int_equal(layout.token_bits, 0);
	assert_int_equal(said.code_map_variable, -1);
}
