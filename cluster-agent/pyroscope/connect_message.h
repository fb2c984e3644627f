/*
 * Messages of the Connect protocol, https://connectrpc.com/docs/protocol: unary calls, whose bodies
 * are bare protobuf or its JSON form. Pure; requests are foreign data.
 */
#ifndef CLUSTER_AGENT_PYROSCOPE_CONNECT_MESSAGE_H
#define CLUSTER_AGENT_PYROSCOPE_CONNECT_MESSAGE_H

#include <protobuf-c/protobuf-c.h>

#include "common/base.h"
#include "common/data/arena.h"
#include "common/data/buf.h"
#include "common/err.h"

/* Bytes of a request, inflated. */
#define CONNECT_MAX_REQUEST_BYTES ((size_t)1 << 20)

enum connect_codec {
	CONNECT_PROTO,
	CONNECT_JSON,
	CONNECT_CODEC_MAX, /* none that is known */
};

/* By a Content-Type, whose parameters are ignored. NULL is JSON. */
enum connect_codec connect_codec_find(const char *content_type);
const char *connect_content_type(enum connect_codec codec);

struct connect_request {
	struct arena arena; /* of the message */
	ProtobufCMessage *message;
};

/*
 * Decodes a body; a JSON body that is empty has no fields. Returns 0, -EINVAL with a sentence, or
 * -ENOMEM. Released with connect_request_fini() in every case.
 */
int connect_request_decode(struct connect_request *ret, const ProtobufCMessageDescriptor *type,
			   enum connect_codec codec, const void *body, size_t len,
			   struct err *err) MUST_CHECK;
void connect_request_fini(struct connect_request *r);

/* Unpacks protobuf into an arena. Returns NULL if it is malformed or does not fit. */
ProtobufCMessage *connect_unpack(const ProtobufCMessageDescriptor *type, struct arena *arena,
				 const void *data, size_t len);

/* Appends a message to out. Returns 0, -EFBIG over the limit of out, or -ENOMEM. */
int connect_encode(const ProtobufCMessage *m, enum connect_codec codec, struct buf *out) MUST_CHECK;

/* An error code of the protocol and its HTTP status. */
struct connect_error {
	const char *code;
	unsigned status;
};

/* The error for a negative errno of a query. */
struct connect_error connect_error_of(int error);

/* Appends {"code", "message"}. Returns 0 or -ENOMEM. */
int connect_error_write(const char *code, const char *message, struct buf *out) MUST_CHECK;

#endif /* CLUSTER_AGENT_PYROSCOPE_CONNECT_MESSAGE_H */
