/* Any bytes as the body of a gRPC request: a message is the rest of them behind its head. */
#include "common/http/grpc_frame.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	uint8_t head[GRPC_FRAME_HEAD_BYTES];
	struct grpc_frame frame;
	struct err err = {""};

	if (grpc_frame_read(&frame, data, size, &err) < 0) {
		if (err.msg[0] == '\0')
			abort();
		return 0;
	}
	if (frame.message != data + GRPC_FRAME_HEAD_BYTES ||
	    frame.len != size - GRPC_FRAME_HEAD_BYTES)
		abort();
	grpc_frame_head(head, frame.len);
	if (memcmp(head + 1, data + 1, sizeof(head) - 1) != 0)
		abort();
	return 0;
}
