/* Any text as the JSON of an OTLP request: what is accepted is a message that protobuf-c reads. */
#include <errno.h>

#include "common/limits.h"
#include "common/protobuf/json_message.h"
#include "proto/otlp_profiles.pb-c.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	CLEANUP(buf_fini) struct buf out;
	struct err err = {""};
	ProtobufCMessage *m;
	int r;

	buf_init(&out, 16 * MIB);
	r = json_message_encode(&otlp__export_profiles_service_request__descriptor,
				(const char *)data, size, &out, &err);
	if (r < 0) {
		if (r != -ENOMEM && err.msg[0] == '\0')
			abort();
		return 0;
	}
	m = protobuf_c_message_unpack(&otlp__export_profiles_service_request__descriptor, NULL,
				      out.len, (const uint8_t *)(out.data ? out.data : ""));
	if (!m)
		abort();
	protobuf_c_message_free_unpacked(m, NULL);
	return 0;
}
