/*
 * Any body of PusherService/Push; one that begins with '{' is JSON. Corpus: what pyroscope-io sent,
 * and bodies made by hand.
 */
#include <errno.h>

#include "cluster-agent/push/push_request.h"
#include "test/lib/upload_parts_check.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	const struct push_request req = {
		.codec = size > 0 && data[0] == '{' ? PUSH_JSON : PUSH_PROTOBUF,
		.now_ns = INT64_C(1800000000000000000),
	};
	CLEANUP(arena_fini) struct arena arena;
	struct upload_parts parts;
	struct err err = {""};
	int r;

	arena_init(&arena, (size_t)64 << 20);
	r = push_request_decode(&parts, &arena, &req, data, size, &err);
	if (r == 0)
		check_upload_parts(&parts);
	else
		assert(r == -EBADMSG || r == -EFBIG);
	return 0;
}
