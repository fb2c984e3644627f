/* Inflates the body of an OTLP request within the limit of a buffer. Pure; foreign data. */
#ifndef CLUSTER_AGENT_OTLP_OTLP_INFLATE_H
#define CLUSTER_AGENT_OTLP_OTLP_INFLATE_H

#include "common/base.h"
#include "common/data/buf.h"
#include "common/err.h"

/*
 * Appends to out, whose content is undefined on failure. Returns 0, -EBADMSG if data is corrupt or
 * incomplete, -EFBIG if out's limit would be exceeded (both with one line in err), or -ENOMEM.
 */
int otlp_inflate_gzip(const void *data, size_t len, struct buf *out, struct err *err) MUST_CHECK;
int otlp_inflate_zstd(const void *data, size_t len, struct buf *out, struct err *err) MUST_CHECK;

#endif /* CLUSTER_AGENT_OTLP_OTLP_INFLATE_H */
