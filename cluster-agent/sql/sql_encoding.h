/*
 * What becomes of an answer between the engine and the client: blocks of another revision of the
 * format Native, ClickHouse's own frames, and compression by HTTP. Frames are also how a client may
 * have sent its query.
 */
#ifndef CLUSTER_AGENT_SQL_SQL_ENCODING_H
#define CLUSTER_AGENT_SQL_SQL_ENCODING_H

#include "cluster-agent/sql/clickhouse_frames.h"
#include "cluster-agent/sql/clickhouse_http.h"
#include "common/base.h"
#include "common/data/buf.h"
#include "common/err.h"
#include "common/http/http_exchange.h"

struct sql_encoding {
	uint64_t revision; /* client_protocol_version */
	bool has_frames;   /* compress=1 */
	enum clickhouse_method method;
	const char *http; /* name for Content-Encoding; NULL: none */
};

/*
 * Reads what the client wants. Returns 0, or -EINVAL for a revision that is not a number, with a
 * sentence in err and the rest read all the same.
 */
int sql_encoding_read(struct sql_encoding *ret, const struct http_exchange *x,
		      struct err *err) MUST_CHECK;

/*
 * Replaces what is in out, an answer in the given format, by what is to be sent. Needs memory for
 * about twice the answer. Returns 0, -EOPNOTSUPP or -EBADMSG if the format Native cannot be encoded
 * again, with a sentence in err, or -ENOMEM.
 */
int sql_encoding_apply(const struct sql_encoding *e, const char *format, struct buf *out,
		       struct err *err) MUST_CHECK;

/* The text of an exception, which goes through frames only. Returns 0 or -ENOMEM. */
int sql_encoding_apply_exception(const struct sql_encoding *e, struct buf *text) MUST_CHECK;

/*
 * Appends the body of x to out: as it is, inflated (Content-Encoding: gzip), or out of its frames
 * (decompress=1). Returns 0, -EBADMSG if it is damaged, -ENOSYS for another Content-Encoding,
 * -EFBIG or -ENOMEM, with a sentence in err.
 */
int sql_encoding_body(const struct http_exchange *x, struct buf *out, struct err *err) MUST_CHECK;

#endif /* CLUSTER_AGENT_SQL_SQL_ENCODING_H */
