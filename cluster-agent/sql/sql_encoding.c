/*
 * Clients compress in one of two ways. Those that speak ClickHouse's native protocol ask for frames
 * (compress=1), which carry exceptions too: they decode whatever comes. The others ask by
 * Accept-Encoding and need enable_http_compression=1, because many HTTP libraries accept gzip
 * without being asked, and would make us compress for a client on the same machine.
 *
 * Each step writes a new buffer and then frees the old one, so an answer is in memory twice at
 * most.
 */
#include "cluster-agent/sql/sql_encoding.h"

#include <errno.h>
#include <strings.h>

#include <lz4frame.h>
#include <zlib.h>
#include <zstd.h>

#include "cluster-agent/sql/native_blocks.h"
#include "common/data/gzip.h"
#include "common/http/http_text.h"
#include "common/text/parse.h"

/* ClickHouse's defaults */
#define GZIP_LEVEL 3
#define ZSTD_LEVEL 1
/* Room for block information, checksums and what does not compress. */
#define SLACK_BYTES ((size_t)1 << 20)

/* In the order in which ClickHouse prefers them; it knows more that no client needs. */
static const char *const http_methods[] = {"gzip", "deflate", "zstd", "lz4"};

static bool is_on(const struct http_exchange *x, const char *name)
{
	const char *v = http_exchange_param(x, name);

	return v && (strcmp(v, "1") == 0 || strcasecmp(v, "true") == 0);
}

static const char *http_method(const struct http_exchange *x)
{
	const char *header = http_exchange_header(x, "Accept-Encoding");

	if (!is_on(x, "enable_http_compression"))
		return NULL;
	for (size_t i = 0; i < ARRAY_SIZE(http_methods); i++) {
		if (http_accepts(header, http_methods[i]))
			return http_methods[i];
	}
	return NULL;
}

int sql_encoding_read(struct sql_encoding *ret, const struct http_exchange *x, struct err *err)
{
	const char *revision = http_exchange_param(x, "client_protocol_version");
	const char *method = http_exchange_param(x, "network_compression_method");

	*ret = (struct sql_encoding){
		.has_frames = is_on(x, "compress"),
		.method = CLICKHOUSE_METHOD_LZ4,
		.http = http_method(x),
	};
	if (method && strcasecmp(method, "ZSTD") == 0)
		ret->method = CLICKHOUSE_METHOD_ZSTD;
	if (method && strcasecmp(method, "NONE") == 0)
		ret->method = CLICKHOUSE_METHOD_NONE;
	if (revision && parse_u64(revision, strlen(revision), 0, UINT64_MAX, &ret->revision) < 0)
		return err_set(err, -EINVAL, "client_protocol_version is not a number");
	return 0;
}

/* ---- answers ---- */

static void replace(struct buf *out, struct buf *by)
{
	struct buf old = *out;

	*out = *by;
	buf_init(by, 0);
	buf_fini(&old);
}

static int encode_blocks(uint64_t revision, struct buf *out, struct err *err)
{
	CLEANUP(buf_fini) struct buf encoded;
	int r;

	buf_init(&encoded, 2 * out->len + SLACK_BYTES);
	r = native_blocks_encode(out->data, out->len, revision, &encoded, err);
	if (r == 0)
		replace(out, &encoded);
	return r;
}

static int encode_frames(enum clickhouse_method method, struct buf *out)
{
	CLEANUP(buf_fini) struct buf frames;
	int r;

	buf_init(&frames, 2 * out->len + 2 * SLACK_BYTES);
	r = clickhouse_frames_encode(out->data, out->len, method, &frames);
	if (r == 0)
		replace(out, &frames);
	return r;
}

static int zlib_deflate(const struct buf *in, struct buf *out)
{
	uLongf n = compressBound(in->len);
	int r = buf_reserve(out, n);

	if (r < 0)
		return r;
	if (compress2((Bytef *)out->data, &n, (const Bytef *)in->data, in->len, GZIP_LEVEL) != Z_OK)
		return -ENOMEM;
	out->len = n;
	return 0;
}

static int zstd_deflate(const struct buf *in, struct buf *out)
{
	size_t room = ZSTD_compressBound(in->len), n;
	int r = buf_reserve(out, room);

	if (r < 0)
		return r;
	n = ZSTD_compress(out->data, room, in->data, in->len, ZSTD_LEVEL);
	if (ZSTD_isError(n))
		return -ENOMEM;
	out->len = n;
	return 0;
}

static int lz4_deflate(const struct buf *in, struct buf *out)
{
	size_t room = LZ4F_compressFrameBound(in->len, NULL), n;
	int r = buf_reserve(out, room);

	if (r < 0)
		return r;
	n = LZ4F_compressFrame(out->data, room, in->data, in->len, NULL);
	if (LZ4F_isError(n))
		return -ENOMEM;
	out->len = n;
	return 0;
}

static int encode_http(const char *method, struct buf *out)
{
	CLEANUP(buf_fini) struct buf packed;
	int r;

	buf_init(&packed, 2 * out->len + SLACK_BYTES);
	if (strcmp(method, "gzip") == 0)
		r = gzip_deflate(out->data, out->len, GZIP_LEVEL, &packed);
	else if (strcmp(method, "deflate") == 0)
		r = zlib_deflate(out, &packed);
	else if (strcmp(method, "zstd") == 0)
		r = zstd_deflate(out, &packed);
	else
		r = lz4_deflate(out, &packed);
	if (r == 0)
		replace(out, &packed);
	return r;
}

int sql_encoding_apply(const struct sql_encoding *e, const char *format, struct buf *out,
		       struct err *err)
{
	int r = 0;

	if (out->len == 0)
		return 0;
	if (e->revision > 0 && strcasecmp(format, "Native") == 0)
		r = encode_blocks(e->revision, out, err);
	if (r < 0)
		return r;
	if (e->has_frames)
		r = encode_frames(e->method, out);
	if (r < 0)
		return r;
	if (e->http)
		r = encode_http(e->http, out);
	return r;
}

int sql_encoding_apply_exception(const struct sql_encoding *e, struct buf *text)
{
	return e->has_frames ? encode_frames(e->method, text) : 0;
}

/* ---- queries ---- */

int sql_encoding_body(const struct http_exchange *x, struct buf *out, struct err *err)
{
	const char *encoding = http_exchange_header(x, "Content-Encoding");
	size_t len;
	const void *body = http_exchange_body(x, &len);
	int r;

	if (len == 0)
		return 0;
	if (is_on(x, "decompress"))
		r = clickhouse_frames_decode(body, len, out);
	else if (!encoding || strcasecmp(encoding, "identity") == 0)
		r = buf_add(out, body, len);
	else if (strcasecmp(encoding, "gzip") == 0)
		r = gzip_inflate(body, len, out);
	else
		return err_set(err, -ENOSYS, "Content-Encoding other than gzip is not supported");
	if (r == -EBADMSG)
		return err_set(err, r, "The compressed body is damaged");
	return r < 0 ? err_set(err, r, "The query is too long") : 0;
}
