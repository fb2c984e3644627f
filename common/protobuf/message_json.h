/*
 * A protobuf message → JSON, as protobuf's JSON mapping says
 * (https://protobuf.dev/programming-guides/json): names in lowerCamelCase, 64-bit integers as
 * texts, enums by name, fields that have their default left out. By the descriptors of protobuf-c;
 * no groups, oneofs and maps. Pure.
 */
#ifndef COMMON_PROTOBUF_MESSAGE_JSON_H
#define COMMON_PROTOBUF_MESSAGE_JSON_H

#include <protobuf-c/protobuf-c.h>

#include "common/base.h"
#include "common/data/buf.h"

#define MESSAGE_JSON_NAME_BYTES 64u

/*
 * The name of a field in JSON: without underscores, and the character after each in upper case.
 * Names that do not fit are cut.
 */
void message_json_name(char ret[static MESSAGE_JSON_NAME_BYTES], const char *field);

/* Appends to out. Returns 0, -EFBIG over the limit of out, or -ENOMEM. */
int message_json_write(const ProtobufCMessage *m, struct buf *out) MUST_CHECK;

#endif /* COMMON_PROTOBUF_MESSAGE_JSON_H */
