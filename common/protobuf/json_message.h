/*
 * JSON → protobuf, for any message that protoc-c knows: the JSON form of protobuf
 * (protobuf.dev/programming-guides/json) as clients send it. Pure; input is untrusted.
 *
 * Names of fields are lowerCamel, or as in the .proto file. 64-bit numbers may be texts, bytes are
 * base64 of either alphabet, with or without padding. null means that the field is absent; unknown
 * fields and unknown names of enums are skipped. Of a name that occurs twice the last one counts.
 */
#ifndef COMMON_PROTOBUF_JSON_MESSAGE_H
#define COMMON_PROTOBUF_JSON_MESSAGE_H

#include <protobuf-c/protobuf-c.h>

#include "common/base.h"
#include "common/data/buf.h"
#include "common/err.h"

/* Values in one JSON text, which take some 100 bytes each while it is read. */
#define JSON_MESSAGE_MAX_VALUES 1000000u
#define JSON_MESSAGE_MAX_DEPTH 64u

/*
 * Appends the bytes of the message to out. Returns 0, -EBADMSG if json is not JSON or does not fit
 * the message, -EFBIG if there are too many values or out's limit is exceeded (all with one line in
 * err), or -ENOMEM. On failure the content of out is undefined.
 */
int json_message_encode(const ProtobufCMessageDescriptor *type, const char *json, size_t len,
			struct buf *out, struct err *err) MUST_CHECK;

#endif /* COMMON_PROTOBUF_JSON_MESSAGE_H */
