/* Any JSON as sample_type_config. */
#include <assert.h>

#include "cluster-agent/push/previous_profile.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct sample_type_config c;

	if (sample_type_config_parse(&c, (const char *)data, size, NULL) < 0)
		return 0;
	assert(c.n <= SAMPLE_TYPES_MAX && c.metric);
	for (size_t i = 0; i < c.n; i++)
		assert(memchr(c.types[i].name, '\0', sizeof(c.types[i].name)));
	return 0;
}
