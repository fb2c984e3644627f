#include "cluster-agent/sql/clickhouse_frames.h"

#include <endian.h>
#include <errno.h>

#include <lz4.h>
#include <zstd.h>

#include "cluster-agent/sql/city_hash.h"

#define SUM_BYTES 16u
#define HEADER_BYTES 9u /* method and both sizes, which count as part of the frame's size */
#define FRAME_BYTES ((size_t)1 << 20)
#define ZSTD_LEVEL 1 /* as ClickHouse's on the network */

static void put32(uint8_t *p, uint32_t v)
{
	v = htole32(v);
	memcpy(p, &v, sizeof(v));
}

static uint32_t get32(const uint8_t *p)
{
	uint32_t v;

	memcpy(&v, p, sizeof(v));
	return le32toh(v);
}

static void put_sum(uint8_t *p, const void *data, size_t len)
{
	struct city_hash h = city_hash128(data, len);
	uint64_t words[] = {htole64(h.low), htole64(h.high)};

	memcpy(p, words, sizeof(words));
}

/* ---- encode ---- */

static size_t bound(size_t len, enum clickhouse_method method)
{
	switch (method) {
	case CLICKHOUSE_METHOD_LZ4:
		return (size_t)LZ4_compressBound((int)len);
	case CLICKHOUSE_METHOD_ZSTD:
		return ZSTD_compressBound(len);
	default:
		return len;
	}
}

/* Returns the size of the result, or 0. */
static size_t compress_to(uint8_t *to, size_t room, const uint8_t *data, size_t len,
			  enum clickhouse_method method)
{
	size_t n;

	switch (method) {
	case CLICKHOUSE_METHOD_LZ4:
		return (size_t)LZ4_compress_default((const char *)data, (char *)to, (int)len,
						    (int)room);
	case CLICKHOUSE_METHOD_ZSTD:
		n = ZSTD_compress(to, room, data, len, ZSTD_LEVEL);
		return ZSTD_isError(n) ? 0 : n;
	default:
		memcpy(to, data, len);
		return len;
	}
}

static int encode_frame(const uint8_t *data, size_t len, enum clickhouse_method method,
			struct buf *out)
{
	size_t room = bound(len, method), n;
	uint8_t *frame;
	int r = buf_reserve(out, SUM_BYTES + HEADER_BYTES + room);

	if (r < 0)
		return r;
	frame = (uint8_t *)out->data + out->len;
	n = compress_to(frame + SUM_BYTES + HEADER_BYTES, room, data, len, method);
	if (n == 0)
		return -ENOMEM; /* the room is enough for any data, so nothing else can fail */
	n += HEADER_BYTES;
	frame[SUM_BYTES] = (uint8_t)method;
	put32(frame + SUM_BYTES + 1, (uint32_t)n);
	put32(frame + SUM_BYTES + 5, (uint32_t)len);
	put_sum(frame, frame + SUM_BYTES, n);
	out->len += SUM_BYTES + n;
	out->data[out->len] = '\0';
	return 0;
}

int clickhouse_frames_encode(const void *data, size_t len, enum clickhouse_method method,
			     struct buf *out)
{
	const uint8_t *p = data;
	int r = 0;

	while (len > 0 && r == 0) {
		size_t n = len < FRAME_BYTES ? len : FRAME_BYTES;

		r = encode_frame(p, n, method, out);
		p += n;
		len -= n;
	}
	return r;
}

/* ---- decode ---- */

static int inflate_to(char *to, size_t raw, const uint8_t *data, size_t len, uint8_t method)
{
	switch (method) {
	case CLICKHOUSE_METHOD_NONE:
		if (len != raw)
			return -EBADMSG;
		memcpy(to, data, len);
		return 0;
	case CLICKHOUSE_METHOD_LZ4:
		return LZ4_decompress_safe((const char *)data, to, (int)len, (int)raw) == (int)raw
			       ? 0
			       : -EBADMSG;
	case CLICKHOUSE_METHOD_ZSTD:
		return ZSTD_decompress(to, raw, data, len) == raw ? 0 : -EBADMSG;
	default:
		return -EBADMSG;
	}
}

/* Moves *pos past the frame. */
static int decode_frame(const uint8_t **pos, const uint8_t *end, struct buf *out)
{
	const uint8_t *p = *pos;
	uint8_t sum[SUM_BYTES];
	size_t size, raw;
	int r;

	if ((size_t)(end - p) < SUM_BYTES + HEADER_BYTES)
		return -EBADMSG;
	size = get32(p + SUM_BYTES + 1);
	raw = get32(p + SUM_BYTES + 5);
	if (size < HEADER_BYTES || size > (size_t)(end - p) - SUM_BYTES || size > INT32_MAX ||
	    raw > INT32_MAX)
		return -EBADMSG;
	put_sum(sum, p + SUM_BYTES, size);
	if (memcmp(sum, p, SUM_BYTES) != 0)
		return -EBADMSG;
	r = buf_reserve(out, raw);
	if (r < 0)
		return r;
	r = inflate_to(out->data + out->len, raw, p + SUM_BYTES + HEADER_BYTES, size - HEADER_BYTES,
		       p[SUM_BYTES]);
	out->len += r == 0 ? raw : 0;
	out->data[out->len] = '\0';
	*pos = p + SUM_BYTES + size;
	return r;
}

int clickhouse_frames_decode(const void *frames, size_t len, struct buf *out)
{
	const uint8_t *pos = frames, *end;
	size_t before = out->len;
	int r = 0;

	if (len == 0) /* frames may be NULL then */
		return 0;
	end = pos + len;
	while (pos < end && r == 0)
		r = decode_frame(&pos, end, out);
	if (r < 0)
		buf_truncate(out, before);
	return r;
}
