/*
 * The body of a unary gRPC request: a flag, a length and a message (grpc/doc/PROTOCOL-HTTP2.md).
 * Pure; foreign data.
 */
#ifndef COMMON_HTTP_GRPC_FRAME_H
#define COMMON_HTTP_GRPC_FRAME_H

#include "common/base.h"
#include "common/data/buf.h"
#include "common/err.h"

#define GRPC_FRAME_HEAD_BYTES 5u

struct grpc_frame {
	const uint8_t *message; /* borrowed */
	size_t len;
	bool compressed;
};

/* Returns 0, or -EBADMSG with one line in err unless data is exactly one message. */
int grpc_frame_read(struct grpc_frame *ret, const void *data, size_t len,
		    struct err *err) MUST_CHECK;

/* The length of the message that begins so. */
size_t grpc_frame_announced(const uint8_t head[static GRPC_FRAME_HEAD_BYTES]);

/* The head of an uncompressed message of len bytes. */
void grpc_frame_head(uint8_t ret[static GRPC_FRAME_HEAD_BYTES], size_t len);

/* Appends text as grpc-message wants it: percent-encoded. What does not fit is left out. */
void grpc_frame_put_text(const char *text, struct buf *out);

#endif /* COMMON_HTTP_GRPC_FRAME_H */
