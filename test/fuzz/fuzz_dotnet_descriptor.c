/* Any bytes as what .NET's runtime says of its structures. */
#include <assert.h>

#include "node-agent/interpreter/dotnet/dotnet_descriptor.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct dotnet_layout layout = {0};
	struct dotnet_description said;

	if (dotnet_description_parse(&layout, (const char *)data, size, &said) < 0)
		return 0;
	assert(layout.token_bits < 24 && layout.method_map <= DOTNET_MAP_DIRECT);
	assert(said.code_map_variable >= -1 && said.code_map_variable < (int)DOTNET_POINTERS_MAX);
	return 0;
}
