#include "common/elf/elf_debug_data.h"

#include <errno.h>
#include <lzma.h>

#define INPUT_BYTES 16384u
#define OUTPUT_BYTES 65536u

struct decoder {
	lzma_stream stream;
	struct buf *to;
	uint8_t input[INPUT_BYTES];
	uint8_t output[OUTPUT_BYTES];
};

static int error_of(lzma_ret r)
{
	switch (r) {
	case LZMA_OK:
	case LZMA_STREAM_END:
		return 0;
	case LZMA_MEM_ERROR:
		return -ENOMEM;
	case LZMA_MEMLIMIT_ERROR:
		return -EFBIG;
	default:
		return -EBADMSG;
	}
}

/* Decodes all of the input. Returns 1 at the end of the stream, 0, or an error. */
static int decode_piece(struct decoder *d, size_t len)
{
	lzma_ret status = LZMA_OK;
	int r = 0;

	d->stream.next_in = d->input;
	d->stream.avail_in = len;
	do {
		d->stream.next_out = d->output;
		d->stream.avail_out = sizeof(d->output);
		status = lzma_code(&d->stream, LZMA_RUN);
		r = error_of(status);
		if (r == 0)
			r = buf_add(d->to, d->output, sizeof(d->output) - d->stream.avail_out);
	} while (r == 0 && status == LZMA_OK && d->stream.avail_out == 0);
	if (r < 0)
		return r;
	return status == LZMA_STREAM_END;
}

static int decode(struct decoder *d, const struct elf_section *s, const struct byte_source *src)
{
	int r = 0;

	for (uint64_t at = 0; r == 0 && at < s->size_bytes; at += INPUT_BYTES) {
		uint64_t left = s->size_bytes - at;
		size_t len = left < INPUT_BYTES ? (size_t)left : INPUT_BYTES;

		r = byte_source_read(src, s->offset + at, d->input, len);
		if (r == 0)
			r = decode_piece(d, len);
	}
	if (r < 0)
		return r;
	return r == 1 ? 0 : -EBADMSG;
}

int elf_debug_data_read(const struct elf_layout *layout, const struct byte_source *src,
			struct buf *ret)
{
	const struct elf_section *s = &layout->sections[ELF_SECTION_DEBUG_DATA];
	AUTO_FREE struct decoder *d = NULL;
	int r;

	if (s->size_bytes == 0)
		return -ENOENT;
	d = calloc(1, sizeof(*d));
	if (!d)
		return -ENOMEM;
	d->to = ret;
	r = error_of(lzma_stream_decoder(&d->stream, ELF_DEBUG_DATA_DECODER_MAX_BYTES, 0));
	if (r == 0)
		r = decode(d, s, src);
	lzma_end(&d->stream);
	return r;
}
