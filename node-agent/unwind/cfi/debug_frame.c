#include "node-agent/unwind/cfi/debug_frame.h"

#include <elf.h>
#include <errno.h>
#include <zlib.h>

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

int debug_frame_inflate(const struct elf_section *section, const struct byte_source *src,
			uint8_t **ret, uint64_t *ret_len)
{
	AUTO_FREE struct inflater *f = NULL;
	AUTO_FREE uint8_t *out = NULL;
	Elf64_Chdr head;
	int r;

	if (!section->compressed || section->size_bytes < sizeof(head))
		return -ENOENT;
	r = byte_source_read(src, section->offset, &head, sizeof(head));
	if (r < 0)
		return r;
	if (head.ch_type != ELFCOMPRESS_ZLIB || head.ch_size == 0 ||
	    head.ch_size > DEBUG_FRAME_MAX_BYTES)
		return -ENOENT;
	f = calloc(1, sizeof(*f));
	out = malloc(head.ch_size);
	if (!f || !out)
		return -ENOMEM;
	f->src = src;
	f->offset = section->offset + sizeof(head);
	f->left = section->size_bytes - sizeof(head);
	f->z.next_out = out;
	f->z.avail_out = (unsigned)head.ch_size;
	if (inflateInit(&f->z) != Z_OK)
		return -ENOMEM;
	r = inflate_all(f);
	inflateEnd(&f->z);
	if (r < 0)
		return r;
	*ret = TAKE_PTR(out);
	*ret_len = head.ch_size;
	return 0;
}
