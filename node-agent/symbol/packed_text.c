/*
 * The text is cut into blocks of 16 KiB that are deflated one by one, and an array has the
 * place of each. The block read last stays inflated, since what is read next is often near: a
 * name and the byte in front of it, or the names of one source file. Everything was compressed
 * here, so inflating cannot fail.
 */
#include "node-agent/symbol/packed_text.h"

#include <assert.h>
#include <errno.h>
#include <libdeflate.h>

/* Larger blocks would take a little less memory and longer to read. */
#define BLOCK_BYTES 16384u
#define LEVEL 3
#define NO_BLOCK SIZE_MAX

struct packed_text {
	struct libdeflate_decompressor *inflate;
	uint8_t *data;    /* the blocks, one after the other */
	uint32_t *starts; /* n_blocks + 1 offsets into data */
	size_t n_blocks;
	size_t len;              /* unpacked */
	size_t current;          /* index of the block in block[], or NO_BLOCK */
	char block[BLOCK_BYTES]; /* unpacked */
};

static size_t block_len(const struct packed_text *t, size_t i)
{
	return i + 1 < t->n_blocks ? BLOCK_BYTES : t->len - i * BLOCK_BYTES;
}

static int pack(struct packed_text *t, struct libdeflate_compressor *deflate, const char *text)
{
	size_t capacity = 0, used = 0;

	for (size_t i = 0; i < t->n_blocks; i++) {
		size_t bound = libdeflate_deflate_compress_bound(deflate, block_len(t, i));
		size_t n;

		if (bound > capacity - used) {
			uint8_t *data;

			capacity += capacity / 2 + bound;
			data = realloc(t->data, capacity);
			if (!data)
				return -ENOMEM;
			t->data = data;
		}
		n = libdeflate_deflate_compress(deflate, text + i * BLOCK_BYTES, block_len(t, i),
						t->data + used, capacity - used);
		assert(n > 0); /* there is room for the worst case */
		t->starts[i] = (uint32_t)used;
		used += n;
	}
	t->starts[t->n_blocks] = (uint32_t)used;
	return 0;
}

static int shrink(struct packed_text *t)
{
	uint8_t *data;

	if (t->n_blocks == 0)
		return 0;
	data = realloc(t->data, t->starts[t->n_blocks]);
	if (!data)
		return -ENOMEM;
	t->data = data;
	return 0;
}

int packed_text_new(struct packed_text **ret, const char *text, size_t len)
{
	CLEANUP(packed_text_freep) struct packed_text *t = NULL;
	struct libdeflate_compressor *deflate;
	int r;

	assert(len <= PACKED_TEXT_MAX_BYTES);
	t = calloc(1, sizeof(*t));
	if (!t)
		return -ENOMEM;
	t->len = len;
	t->current = NO_BLOCK;
	t->n_blocks = (len + BLOCK_BYTES - 1) / BLOCK_BYTES;
	t->starts = calloc(t->n_blocks + 1, sizeof(*t->starts));
	t->inflate = libdeflate_alloc_decompressor();
	if (!t->starts || !t->inflate)
		return -ENOMEM;

	deflate = libdeflate_alloc_compressor(LEVEL);
	if (!deflate)
		return -ENOMEM;
	r = pack(t, deflate, text);
	libdeflate_free_compressor(deflate);
	if (r == 0)
		r = shrink(t);
	if (r < 0)
		return r;
	*ret = TAKE_PTR(t);
	return 0;
}

void packed_text_free(struct packed_text *t)
{
	if (!t)
		return;
	if (t->inflate)
		libdeflate_free_decompressor(t->inflate);
	free(t->data);
	free(t->starts);
	free(t);
}

static void load_block(struct packed_text *t, size_t i)
{
	enum libdeflate_result r;

	if (t->current == i)
		return;
	r = libdeflate_deflate_decompress(t->inflate, t->data + t->starts[i],
					  t->starts[i + 1] - t->starts[i], t->block,
					  block_len(t, i), NULL);
	assert(r == LIBDEFLATE_SUCCESS); /* compressed by pack() */
	t->current = i;
}

size_t packed_text_read(struct packed_text *t, size_t offset, char *out, size_t cap)
{
	size_t n = 0;

	while (n < cap && offset + n < t->len) {
		size_t i = (offset + n) / BLOCK_BYTES, at = (offset + n) % BLOCK_BYTES;
		size_t part = block_len(t, i) - at;

		if (part > cap - n)
			part = cap - n;
		load_block(t, i);
		memcpy(out + n, t->block + at, part);
		n += part;
	}
	return n;
}

size_t packed_text_bytes(const struct packed_text *t)
{
	return sizeof(*t) + (t->n_blocks + 1) * sizeof(*t->starts) + t->starts[t->n_blocks];
}
