/*
 * ClickHouse's own compression of streams, which its clients ask for with compress=1 and use with
 * decompress=1. Pure.
 *
 * A stream is a sequence of frames:
 *
 *	checksum    CityHash128 (1.0.2) of all that follows      16 bytes
 *	method      0x82 LZ4, 0x90 ZSTD, 0x02 none                1 byte
 *	size        of method, both sizes and the data            4 bytes
 *	raw size    of the data before compression                4 bytes
 *	data
 *
 * Numbers are little-endian. Source: ClickHouse's documentation of the native protocol.
 */
#ifndef CLUSTER_AGENT_SQL_CLICKHOUSE_FRAMES_H
#define CLUSTER_AGENT_SQL_CLICKHOUSE_FRAMES_H

#include "common/base.h"
#include "common/data/buf.h"

enum clickhouse_method {
	CLICKHOUSE_METHOD_NONE = 0x02,
	CLICKHOUSE_METHOD_LZ4 = 0x82,
	CLICKHOUSE_METHOD_ZSTD = 0x90,
};

/*
 * Appends data to out as frames of at most 1 MiB of data; none if len is 0. Returns 0, -ENOMEM, or
 * -EFBIG if out's limit would be exceeded.
 */
int clickhouse_frames_encode(const void *data, size_t len, enum clickhouse_method method,
			     struct buf *out) MUST_CHECK;

/*
 * Appends the data of all frames to out, which is unchanged on failure. Returns 0, -EBADMSG if a
 * frame is damaged, cut off or of another method, -EFBIG if out's limit would be exceeded, or
 * -ENOMEM.
 */
int clickhouse_frames_decode(const void *frames, size_t len, struct buf *out) MUST_CHECK;

#endif /* CLUSTER_AGENT_SQL_CLICKHOUSE_FRAMES_H */
