/*
 * libdeflate is much faster than zlib, but works on whole buffers: to inflate, it
 * wants all of the output's space at once and only says afterwards that it was too small. The
 * size is guessed from the trailer and doubled until it fits; out's limit bounds it, whatever
 * the sender claims.
 */
#include "common/data/gzip.h"

#include <errno.h>

#include <libdeflate.h>

#define GZIP_MIN_BYTES 18   /* header and trailer of a member */
#define GZIP_MAX_RATIO 1032 /* of deflate, which can code 258 bytes in two bits */
#define GZIP_FIRST_GUESS_BYTES ((size_t)64 * 1024)

DEFINE_CLEANUP(struct libdeflate_decompressor *, libdeflate_free_decompressor);
DEFINE_CLEANUP(struct libdeflate_compressor *, libdeflate_free_compressor);

bool gzip_detect(const void *data, size_t len)
{
	const uint8_t *p = data;

	return len >= 2 && p[0] == 0x1f && p[1] == 0x8b;
}

/*
 * Space for the first attempt. The last four bytes hold the size of the last member; the sender
 * may lie, so they are trusted only up to what len bytes can inflate to. Too small a guess
 * costs another attempt, nothing else.
 */
static size_t guess_size(const uint8_t *p, size_t len, size_t room)
{
	size_t guess = GZIP_FIRST_GUESS_BYTES, most = len * GZIP_MAX_RATIO;

	if (len >= GZIP_MIN_BYTES) {
		const uint8_t *t = p + len - 4;
		size_t isize =
			(size_t)t[0] | (size_t)t[1] << 8 | (size_t)t[2] << 16 | (size_t)t[3] << 24;

		if (isize > guess)
			guess = isize;
	}
	if (guess > most)
		guess = most;
	return guess < room ? guess : room;
}

/* The three formats of libdeflate. */
typedef enum libdeflate_result (*inflate_fn)(struct libdeflate_decompressor *, const void *, size_t,
					     void *, size_t, size_t *, size_t *);

/* Inflates the member at p; *ret_used is its length in bytes. */
static int inflate_member(inflate_fn inflate, const uint8_t *p, size_t len, struct buf *out,
			  size_t *ret_used)
{
	CLEANUP(libdeflate_free_decompressorp) struct libdeflate_decompressor *d = NULL;
	size_t room = out->limit - out->len, want = guess_size(p, len, room), n_out;
	int r;

	d = libdeflate_alloc_decompressor();
	if (!d)
		return -ENOMEM;
	for (;;) {
		r = buf_reserve(out, want);
		if (r < 0)
			return r;
		switch (inflate(d, p, len, out->data + out->len, want, ret_used, &n_out)) {
		case LIBDEFLATE_SUCCESS:
			out->len += n_out;
			return 0;
		case LIBDEFLATE_INSUFFICIENT_SPACE:
			break;
		default:
			return -EBADMSG;
		}
		if (want == room)
			return -EFBIG;
		want = want > room / 2 ? room : want * 2;
	}
}

int gzip_inflate(const void *data, size_t len, struct buf *out)
{
	size_t before = out->len, used = 0;
	const uint8_t *p = data;
	int r = -EBADMSG;

	for (size_t pos = 0; pos < len; pos += used) {
		r = gzip_detect(p + pos, len - pos) ? inflate_member(libdeflate_gzip_decompress_ex,
								     p + pos, len - pos, out, &used)
						    : -EBADMSG;
		if (r < 0)
			break;
	}
	if (r < 0)
		out->len = before;
	if (out->data)
		out->data[out->len] = '\0';
	return r;
}

int zlib_inflate(const void *data, size_t len, struct buf *out)
{
	size_t before = out->len, used = 0;
	int r = inflate_member(libdeflate_zlib_decompress_ex, data, len, out, &used);

	if (r == -EBADMSG)
		r = inflate_member(libdeflate_deflate_decompress_ex, data, len, out, &used);
	if (r == 0 && used < len)
		r = -EBADMSG;
	if (r < 0)
		out->len = before;
	if (out->data)
		out->data[out->len] = '\0';
	return r;
}

int gzip_deflate(const void *data, size_t len, int level, struct buf *out)
{
	CLEANUP(libdeflate_free_compressorp) struct libdeflate_compressor *c = NULL;
	size_t room = out->limit - out->len, want, n;
	int r;

	c = libdeflate_alloc_compressor(level);
	if (!c)
		return -ENOMEM;

	want = libdeflate_gzip_compress_bound(c, len);
	if (want > room)
		want = room;
	r = buf_reserve(out, want);
	if (r < 0)
		return r;

	n = libdeflate_gzip_compress(c, data, len, out->data + out->len, want);
	out->len += n;
	out->data[out->len] = '\0';
	return n > 0 ? 0 : -EFBIG;
}
