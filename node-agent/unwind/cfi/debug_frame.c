#include "node-agent/unwind/cfi/debug_frame.h"

#include <elf.h>
#include <errno.h>
#include <zlib.h>
#include <zstd.h>

#ifndef ELFCOMPRESS_ZSTD /* glibc before 2.37 */
#define ELFCOMPRESS_ZSTD 2
#endif
#define CHUNK_BYTES 65536u

struct inflater {
	const struct byte_source *src;
	uint64_t offset, left;
	z_stream z;
	uint8_t chunk[CHUNK_BYTES];
};

static int inflate_all(struct inflater *f)
{
	int status = Z_OK;

	while (status == Z_OK && f->left > 0) {
		size_t n = f->left < CHUNK_BYTES ? (size_t)f->left : CHUNK_BYTES;
		int r = byte_source_read(f->src, f->offset, f->chunk, n);

		if (r < 0)
			return r;
		f->offset += n;
		f->left -= n;
		f->z.next_in = f->chunk;
		f->z.avail_in = (unsigned)n;
		status = inflate(&f->z, Z_NO_FLUSH);
	}
	return status == Z_STREAM_END && f->z.avail_out == 0 ? 0 : -ENOENT;
}

static int inflate_zlib(const struct byte_source *src, uint64_t offset, uint64_t len, uint8_t *out,
			uint64_t out_len)
{
	AUTO_FREE struct inflater *f = calloc(1, sizeof(*f));
	int r;

	if (!f)
		return -ENOMEM;
	f->src = src;
	f->offset = offset;
	f->left = len;
	f->z.next_out = out;
	f->z.avail_out = (unsigned)out_len;
	if (inflateInit(&f->z) != Z_OK)
		return -ENOMEM;
	r = inflate_all(f);
	inflateEnd(&f->z);
	return r;
}

/* At once: in pieces, the decoder would need a window of up to the whole size besides. */
static int inflate_zstd(const struct byte_source *src, uint64_t offset, uint64_t len, uint8_t *out,
			uint64_t out_len)
{
	AUTO_FREE uint8_t *packed = NULL;
	int r;

	if (len == 0 || len > DEBUG_FRAME_MAX_BYTES)
		return -ENOENT;
	packed = malloc(len);
	if (!packed)
		return -ENOMEM;
	r = byte_source_read(src, offset, packed, len);
	if (r < 0)
		return r;
	return ZSTD_decompress(out, out_len, packed, len) == out_len ? 0 : -ENOENT;
}

int debug_frame_inflate(const struct elf_section *section, const struct byte_source *src,
			uint8_t **ret, uint64_t *ret_len)
{
	const uint64_t offset = section->offset + sizeof(Elf64_Chdr);
	AUTO_FREE uint8_t *out = NULL;
	Elf64_Chdr head;
	uint64_t len;
	int r;

	if (!section->compressed || section->size_bytes < sizeof(head))
		return -ENOENT;
	r = byte_source_read(src, section->offset, &head, sizeof(head));
	if (r < 0)
		return r;
	if ((head.ch_type != ELFCOMPRESS_ZLIB && head.ch_type != ELFCOMPRESS_ZSTD) ||
	    head.ch_size == 0 || head.ch_size > DEBUG_FRAME_MAX_BYTES)
		return -ENOENT;
	out = malloc(head.ch_size);
	if (!out)
		return -ENOMEM;
	len = section->size_bytes - sizeof(head);
	if (head.ch_type == ELFCOMPRESS_ZLIB)
		r = inflate_zlib(src, offset, len, out, head.ch_size);
	else
		r = inflate_zstd(src, offset, len, out, head.ch_size);
	if (r < 0)
		return r;
	*ret = TAKE_PTR(out);
	*ret_len = head.ch_size;
	return 0;
}
