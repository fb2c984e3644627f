#include "node-agent/interpreter/dotnet/dotnet_descriptor.h"

#include <errno.h>
#include <jansson.h>

#include "node-agent/dotnet/debug_bounds.h"

#define SIZE "!" /* a type's size is among its fields by this name */

static const struct {
	const char *type;
	const char *field;
} names[DOTNET_FIELDS] = {
	[DOTNET_FRAGMENT_NEXT] = {"RangeSectionFragment", "Next"},
	[DOTNET_FRAGMENT_BEGIN] = {"RangeSectionFragment", "RangeBegin"},
	[DOTNET_FRAGMENT_END] = {"RangeSectionFragment", "RangeEndOpen"},
	[DOTNET_FRAGMENT_SECTION] = {"RangeSectionFragment", "RangeSection"},
	[DOTNET_SECTION_FLAGS] = {"RangeSection", "Flags"},
	[DOTNET_SECTION_HEAP] = {"RangeSection", "HeapList"},
	[DOTNET_HEAP_BASE] = {"CodeHeapListNode", "MapBase"},
	[DOTNET_HEAP_MAP] = {"CodeHeapListNode", "HeaderMap"},
	[DOTNET_CODE_METHOD] = {"RealCodeHeader", "MethodDesc"},
	[DOTNET_CODE_N_FUNCTIONS] = {"RealCodeHeader", "NumUnwindInfos"},
	[DOTNET_CODE_FUNCTIONS] = {"RealCodeHeader", "UnwindInfos"},
	[DOTNET_CODE_DEBUG] = {"RealCodeHeader", "DebugInfo"},
	[DOTNET_METHOD_TOKEN] = {"MethodDesc", "Flags3AndTokenRemainder"},
	[DOTNET_METHOD_INDEX] = {"MethodDesc", "ChunkIndex"},
	[DOTNET_METHOD_FLAGS] = {"MethodDesc", "Flags"},
	[DOTNET_METHOD_NAME] = {"DynamicMethodDesc", "MethodName"},
	[DOTNET_CHUNK_TABLE] = {"MethodDescChunk", "MethodTable"},
	[DOTNET_CHUNK_TOKEN] = {"MethodDescChunk", "FlagsAndTokenRange"},
	[DOTNET_CHUNK_BYTES] = {"MethodDescChunk", SIZE},
	[DOTNET_TABLE_MODULE] = {"MethodTable", "Module"},
	[DOTNET_TABLE_CLASS] = {"MethodTable", "EEClassOrCanonMT"},
	[DOTNET_CLASS_TABLE] = {"EEClass", "MethodTable"},
	[DOTNET_MODULE_BASE] = {"Module", "Base"},
};

/* A field is an offset, or [offset, type]. Sets *ret, unless it is no offset. */
static bool read_offset(const json_t *field, uint16_t *ret)
{
	const json_t *offset = json_is_array(field) ? json_array_get(field, 0) : field;

	if (!json_is_integer(offset) || json_integer_value(offset) < 0 ||
	    json_integer_value(offset) >= DOTNET_UNKNOWN)
		return false;
	*ret = (uint16_t)json_integer_value(offset);
	return true;
}

static void read_fields(const json_t *types, struct dotnet_layout *layout,
			struct dotnet_description *ret)
{
	ret->has_code = true;
	for (size_t i = 0; i < DOTNET_FIELDS; i++) {
		const json_t *type = json_object_get(types, names[i].type);
		bool found = read_offset(json_object_get(type, names[i].field), &layout->at[i]);

		ret->has_code &= found || i > DOTNET_CODE_METHOD;
	}
}

/* A constant is a number, "0x1f", or one of these with its type in an array. */
static bool read_constant(const json_t *globals, const char *name, uint64_t *ret)
{
	const json_t *value = json_object_get(globals, name);
	const char *text;
	char *end;

	if (json_is_array(value))
		value = json_array_get(value, 0);
	if (json_is_integer(value) && json_integer_value(value) >= 0) {
		*ret = (uint64_t)json_integer_value(value);
		return true;
	}
	text = json_string_value(value);
	if (!text)
		return false;
	errno = 0;
	*ret = strtoull(text, &end, 0);
	return errno == 0 && end > text && *end == '\0';
}

/* A variable is [number], or that with its type in an array. Returns -1 if it is none. */
static int read_variable(const json_t *globals, const char *name)
{
	const json_t *value = json_object_get(globals, name), *number;

	if (json_is_array(json_array_get(value, 0)))
		value = json_array_get(value, 0);
	number = json_array_get(value, 0);
	if (json_array_size(value) != 1 || !json_is_integer(number) ||
	    json_integer_value(number) < 0 || json_integer_value(number) >= DOTNET_POINTERS_MAX)
		return -1;
	return (int)json_integer_value(number);
}

/*
 * Contracts have numbers, which count up when a structure has another meaning. From .NET 11 on they
 * are texts and have begun anew: "c1" is what was 2.
 */
static json_int_t contract_of(const json_t *contracts, const char *name)
{
	const json_t *value = json_object_get(contracts, name);

	if (json_is_string(value))
		return strcmp(json_string_value(value), "c1") == 0 ? 2 : 3;
	return json_integer_value(value);
}

static int read_contracts(const json_t *contracts, struct dotnet_layout *layout,
			  const struct dotnet_description *d)
{
	json_int_t code = contract_of(contracts, "ExecutionManager");

	if (!json_is_object(contracts))
		return -EBADMSG;
	if (code > 2 || (d->has_code && code < 1))
		return -ENOTSUP;
	if (code > 0)
		layout->method_map = code == 1 ? DOTNET_MAP_BACKWARD : DOTNET_MAP_DIRECT;
	if (strcmp(json_string_value(json_object_get(contracts, "DebugInfo")) ?: "", "c1") == 0)
		layout->debug_form = DEBUG_BOUNDS_PACKED_WIDE;
	return 0;
}

int dotnet_description_parse(struct dotnet_layout *layout, const char *text, size_t n,
			     struct dotnet_description *ret)
{
	const json_t *types, *globals;
	uint64_t bits;
	json_t *root;
	int r = 0;

	*ret = (struct dotnet_description){.code_map_variable = -1};
	if (n > DOTNET_DESCRIPTION_BYTES)
		return -EBADMSG;
	root = json_loadb(text, n, 0, NULL);
	types = json_object_get(root, "types");
	globals = json_object_get(root, "globals");
	if (!json_is_object(types) || !json_is_object(globals))
		r = -EBADMSG;
	if (r == 0) {
		read_fields(types, layout, ret);
		ret->code_map_variable =
			read_variable(globals, "ExecutionManagerCodeRangeMapAddress");
		if (read_constant(globals, "MethodDescTokenRemainderBitCount", &bits))
			layout->token_bits = bits < 24 ? (uint8_t)bits : 0;
		r = read_contracts(json_object_get(root, "contracts"), layout, ret);
	}
	json_decref(root);
	return r;
}
