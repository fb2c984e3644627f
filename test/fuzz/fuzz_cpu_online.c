#include <stdint.h>

#include "node-agent/sample/cpu_online.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

/* A set that was read is its own rest after taking nothing away, and empty after taking itself. */
int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct cpu_set_bits s, nothing = {0}, d;

	if (cpu_online_parse((const char *)data, size, &s) < 0)
		return 0;
	d = cpu_set_minus(&s, &nothing);
	if (cpu_set_count(&d) != cpu_set_count(&s))
		__builtin_trap();
	d = cpu_set_minus(&s, &s);
	if (cpu_set_count(&d) != 0)
		__builtin_trap();
	return 0;
}
