/*
 * Content-Encoding of an upload: inflates its body within a limit. Pure; foreign data.
 */
#ifndef CLUSTER_AGENT_PUSH_BODY_ENCODING_H
#define CLUSTER_AGENT_PUSH_BODY_ENCODING_H

#include "cluster-agent/ingest/upload_parts.h"
#include "common/base.h"
#include "common/data/buf.h"
#include "common/err.h"

enum body_encoding {
	BODY_IDENTITY,
	BODY_GZIP,
	BODY_ZSTD,
	BODY_DEFLATE, /* zlib, or the bare deflate that some clients send */
};

/* For the answer to a request in another encoding. */
#define BODY_ENCODINGS "gzip, zstd, deflate or identity"

/*
 * The encoding that a Content-Encoding or grpc-encoding names; NULL and "" are identity. Returns
 * false if it is none of ours.
 */
bool body_encoding_find(enum body_encoding *ret, const char *name) MUST_CHECK;

/*
 * Appends the inflated body to out, whose content is undefined on failure. Returns 0, -EBADMSG if
 * data is corrupt or incomplete, -EFBIG if out's limit would be exceeded (both with one line in
 * err), or -ENOMEM. The encoding is not BODY_IDENTITY.
 */
int body_inflate(enum body_encoding encoding, const void *data, size_t len, struct buf *out,
		 struct err *err) MUST_CHECK;

/* A body and what decodes it once it is inflated. Borrowed. */
struct encoded_body {
	enum body_encoding encoding;
	upload_decode_fn *decode;
	const void *ctx; /* of decode */
};

/*
 * An upload_decode_fn whose ctx is a struct encoded_body. Without an encoding, zstd is recognised
 * by its first bytes; gzip is left to decode. What decode returns must not refer to the body.
 */
upload_decode_fn encoded_body_decode;

#endif /* CLUSTER_AGENT_PUSH_BODY_ENCODING_H */
