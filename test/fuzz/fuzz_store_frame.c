/* A frame as the log has it: the first two bytes are the size of its rows. */
#include "cluster-agent/store/store_probe.h"
#include "common/base.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct store_frame frame = {.n_rows = 1};
	char service[32];

	if (size < 2)
		return 0;
	frame.n_bytes = (uint32_t)data[0] << 8 | data[1];
	frame.data = data + 2;
	frame.len = size - 2;
	store_frame_service(&frame, service, sizeof(service));
	if (strlen(service) >= sizeof(service))
		abort();
	return 0;
}
